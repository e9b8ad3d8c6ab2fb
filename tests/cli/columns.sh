# Columns come, go and change their names; old versions keep what they had.
grebe create t --from "$DATA/glove_20k.parquet" -q
grebe rename-column t rank "the rank" -q
grebe head t -n 2 --columns "word,the rank"
grebe add-column t "$DATA/glove_norms.parquet" -q
grebe drop-column t vector -q
grebe schema t --format csv
grebe schema t@1 --format csv
grebe take t --rows 1 --columns norm,"the rank" --format jsonl
grebe tag t first@1
grebe tag t now --message "before the drop is undone"
grebe tag t
grebe tag t first@2; echo "exit $?"
grebe head t@first -n 1 --columns word --format csv
grebe tag t first --delete
grebe tag t --format csv
grebe log t --limit 2
