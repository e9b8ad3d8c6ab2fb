# Several files and patterns as one source.
q() { "$@"; echo "exit $?"; }
mkdir -p d/e
printf 'id,name\n1,a\n2,b\n' >d/a.csv
printf 'id,score\n3,1.5\n4,2.5\n' >d/e/b.csv
printf '{"id":5,"name":"e"}\n' >d/c.jsonl
printf 'id\nx\n' >d/e/bad.csv
grebe head 'd/**/[ab].csv'
grebe head d/e/b.csv d/a.csv d/c.jsonl --format csv
grebe schema d/a.csv d/e/b.csv
grebe convert d/a.csv d/1.parquet -q
grebe convert d/c.jsonl d/2.parquet -q
grebe convert d/e/b.csv d/3.parquet -q
# One schema: one table, with pruning; two schemas: one after the other.
grebe explain d/1.parquet d/2.parquet --where 'id < 3' --format json | grep -o '"chunks[a-z_]*":[0-9]*'
grebe scan 'd/*.parquet' --where 'id >= 2' --with-row-id --format csv
grebe scan 'd/*.parquet' --rows 1:4 --columns score,id --format csv
grebe take 'd/*.parquet' --rows 4,0,2,4 --format csv
grebe take 'd/*.parquet' --rows 4,-1 --missing null --columns name --with-row-id --format csv
grebe count 'd/*.parquet' d/a.csv
grebe count d/a.csv d/e/b.csv --where 'score is null'
grebe convert 'd/*.parquet' all.jsonl -q && cat all.jsonl
grebe create t --from 'd/[12].parquet' -q && grebe count t
# A name that exists is no pattern.
cp d/a.csv 'x[1].csv'; grebe count 'x[1].csv'
q grebe head 'd/*.nothing'
q grebe head d/a.csv d/missing.csv
q grebe head d/a.csv d/e/bad.csv
q grebe head d/a.csv -
q grebe take 'd/*.parquet' --rows 5
q grebe head 'd/*.parquet' --columns nam
