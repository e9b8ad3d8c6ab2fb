# Existing files become a table in place, and what does not fit is told.
cp "$GOLDEN"/parquet/milvus/column_group_*.parquet .
grebe import t column_group_0.parquet --check --message 'in place'
grebe head t --limit 2
grebe import t column_group_1.parquet column_group_2.parquet; echo "exit $?"
grebe import t column_group_1.parquet --columns name -q
grebe import t column_group_0.parquet; echo "exit $?"
grebe import t none.parquet; echo "exit $?"
grebe import t import.txt; echo "exit $?"
grebe import t column_group_2.parquet --columns vector,nothing; echo "exit $?"
grebe import t column_group_1.parquet column_group_1.parquet; echo "exit $?"
grebe import t; echo "exit $?"
grebe log t --format csv | cut -d, -f1,3-
grebe schema t
ls t
grebe count t --where "id >= 90 and name like 'n%'"
# packed files
mkdir segment && mv column_group_*.parquet segment
grebe head packed:segment --limit 2 --columns name,id
grebe create q --from packed:segment --property writer.policy=nothing; echo "exit $?"
grebe create q --from packed:segment --policy-patterns a; echo "exit $?"
ls
