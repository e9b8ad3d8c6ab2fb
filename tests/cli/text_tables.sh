# Text that goes into tables takes their types; odd text is read, or refused with a word of help.
printf 'id,zip,note\n1,00123,\n' > m1.csv
printf 'id,zip,note\n3,90210,hello\n' > m2.csv
grebe create m --from m1.csv -q && grebe schema m --format csv
grebe append m m2.csv -q && grebe append m - --input-format csv -q < m2.csv && grebe head m
grebe create both --from m1.csv --from m2.csv -q && grebe count both --where "zip = '90210'"
printf 'id,zip\n1,2\nx,3\n' > bad.csv
grebe append m bad.csv || echo "exit $?"
grebe append m m2.csv --schema m1.csv || echo "exit $?"

printf '{"fields":[{"name":"id","type":"int32"},{"name":"f","type":"float"},{"name":"t","type":"timestamp[ms]"},
{"name":"v","type":"fixed_size_list<float>[2]"},{"name":"b","type":"binary"},{"name":"s","type":"struct<x: int8>"}]}' > s.json
grebe create n --schema s.json -q
printf 'id,f,t,v\n1,0.1,2026-11-29T12:00,"[1,2]"\n' > n.csv
printf '{"t":"2026-11-29T12:00","f":0.1,"s":{"x":2}}\n' > n.jsonl
grebe append n n.csv n.jsonl -q && grebe head n --format jsonl
printf 'id\n3000000000\n' > big.csv
grebe append n big.csv || echo "exit $?"
printf 'b\nx\n' > bytes.csv
grebe append n bytes.csv || echo "exit $?"
grebe head m1.csv --schema s.json || echo "exit $?"

# Columns without a value are strings in a table, at any depth.
printf '{"a":null,"l":[],"s":{"q":null,"r":1}}\n' > nulls.jsonl
grebe create k --from nulls.jsonl -q && grebe schema k --format csv
printf '{"a":"x","l":["y"],"s":{"q":"z","r":2}}\n' | grebe append k - --input-format jsonl -q && grebe count k --where "a = 'x'"
printf 'extra\n\n' > extra.csv
grebe create w --from m1.csv -q && grebe add-column w extra.csv -q && grebe schema w --format csv
mkdir parts && printf 'n\n\n' > parts/1.csv && printf 'n\n5\n' > parts/2.csv
grebe create p --from 'parts/*.csv' -q && grebe schema p --format csv

# No rows at all.
echo '[]' > z.json; : > e.json; : > e.jsonl
grebe count z.json e.json e.jsonl
grebe head z.json --format json
grebe append m z.json -q && grebe count m
grebe convert z.json z.parquet -q && grebe count z.parquet

printf 'text\nhello; world\nfoo, bar\n' | grebe head - --input-format csv
printf 'sep=;\na;b\n1,5;x\n' | grebe head - --input-format csv --decimal-comma
printf 'a;b\n1.234,56;1.000\n' | grebe head - --input-format csv --decimal-comma
printf 'a\tb\n1\ttwo\\nlines\n\\N\t\\N\n' | grebe head - --input-format tsv --escape '\' --format jsonl
printf 'a\n1\n' > x.CSV && gzip x.CSV && grebe count x.CSV.gz && mv x.CSV.gz X.CSV.GZ && grebe count X.CSV.GZ
printf '\xff\xfea\0\n\0' > wide.csv
grebe head wide.csv || echo "exit $?"
printf 'a\n\xe4\n' > latin.csv
grebe count latin.csv || echo "exit $?"
printf '{' > no.json
grebe head m1.csv --schema no.json 2>&1 || echo "exit $?"
grebe create o --schema no.json 2>&1 || echo "exit $?"
