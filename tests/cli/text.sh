# CSV, TSV, JSON and JSON lines as sources: plain, compressed, from a pipe, by force.
q() { "$@"; echo "exit $?"; }
cat > a.csv <<'CSV'
id,name,price,day,note
1,pear,1.10,2024-02-29,"a, ""quoted""
note"
2,007,3,2024-03-01,
3,,,,""
CSV
grebe head a.csv
grebe schema a.csv
grebe scan a.csv --where "price > 2" --columns name,price --format jsonl
grebe convert a.csv a.parquet -q && grebe head a.parquet --format csv
grebe create t --from a.csv -q && grebe append t a.csv -q && grebe count t
grebe take a.csv --rows 2,0 --columns id --format csv
printf 'k\tv\n1\t2\n' > b.tsv; grebe head b.tsv
printf 'k;v\n1,5;2\n' | grebe head - --input-format csv
printf 'k,v\n1,2\n' > plain; grebe head csv:plain --format jsonl
q grebe head plain
gzip -c a.csv > a.csv.gz; grebe count a.csv.gz
cat > rows.jsonl <<'JSON'
{"id":1,"v":[0.5,1],"s":{"x":1}}
{"id":18446744073709551615,"v":null,"s":{"x":2,"y":"z"}}

{"id":3,"mixed":1}
{"mixed":"one"}
JSON
grebe head rows.jsonl --format jsonl
grebe schema rows.jsonl
gzip rows.jsonl; grebe create u --from rows.jsonl.gz -q; grebe head u --format jsonl
printf 'a,nothing\n1,\n' > nulls.csv; grebe create n --from nulls.csv -q; grebe schema n --format csv
echo '[{"a":1}, {"a":2.5}]' > list.json; grebe head list.json
grebe head list.json --format json | grebe head - --input-format json
echo '{"a":1}' | grebe create w --from - --input-format jsonl -q; grebe head w
# What is wrong has its place.
printf 'a,b\n1,2\n3\n' > ragged.csv; q grebe head ragged.csv
printf 'a,b\n1,"2\n' > quote.csv; q grebe head quote.csv
: > empty.csv; q grebe head empty.csv
printf '{"a":1}\n{"a":}\n' > bad.jsonl; q grebe head bad.jsonl
head -c 40 a.csv.gz > cut.csv.gz; q grebe head cut.csv.gz
q grebe head - --input-format xml < a.csv
q grebe create x --from ragged.csv -q
ls
