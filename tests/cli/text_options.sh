# How CSV is laid out, types that are given, and CSV that is written.
cat > euro.csv <<'END'
Export of 2026-11-29
# units: EUR
id;price;note
1;1,50;'it''s; here'
2;-;NA
# late comment
3;1000,25
END
layout=(--skip-rows 1 --comment '#' --decimal-comma --quote "'" --null-values NA,- --ragged fill)
grebe head euro.csv "${layout[@]}"
grebe schema euro.csv "${layout[@]}"
grebe create t --from euro.csv "${layout[@]}" -q
grebe count t --where 'price > 1'
grebe count euro.csv "${layout[@]}" --ragged drop
grebe head euro.csv --skip-rows 1 --comment '#' --quote "'" --delimiter ';' || echo "exit $?"

printf '007,x\n8,y\n' > bare.csv
grebe head bare.csv --header no
grebe head bare.csv --header auto
printf '{"fields":[{"name":"id","type":"int16"},{"name":"word","type":"large_string"}]}' > s.json
grebe head bare.csv --header no --schema s.json
grebe schema bare.csv --header no --schema s.json --format json
printf 'id,word\n1,x\n70000,y\n' > big.csv
grebe head big.csv --schema s.json || echo "exit $?"
grebe create u --from bare.csv --header no --schema s.json -q
grebe append u bare.csv --header no --schema s.json -q
grebe count u

printf 'v,m\n"[1,2.5]",1.5\n,2\n' > v.csv
printf '{"fields":[{"name":"v","type":"fixed_size_list<float>[2]"},{"name":"m","type":"decimal128(9, 2)"}]}' > v.json
grebe head v.csv --schema v.json
printf '{"m":"0.5","v":[0,1]}\n{"m":1e3}\n' | grebe head - --input-format jsonl --schema v.json || echo "exit $?"

printf 'a\n1\n2\nx\n' > late.csv
grebe schema late.csv
grebe count late.csv --sample-rows 2 || echo "exit $?"
gzip -k late.csv
grebe schema late.csv.gz --sample-rows all
printf 'n\xe4me\n\xdf\n' > latin.csv
grebe head latin.csv --encoding latin1
printf ' a , b \n 1 , x \n' | grebe head - --input-format csv --trim --format jsonl
printf 'a\tb\n1\t"x\\"y"\n' | grebe head - --input-format csv --delimiter '\t' --escape '\' --format jsonl

grebe convert t out.tsv -q && cat out.tsv
grebe convert t out.csv -q --output-delimiter ';' --output-quote "'" --output-null NA --output-header no && cat out.csv
grebe convert t out.csv.gz -q && gzip -dc out.csv.gz
grebe convert out.csv.gz out.jsonl.zst -q && grebe head out.jsonl.zst --format jsonl
grebe convert t out.csv -q --output-delimiter ';' --output-quote '' || echo "exit $?"
grebe convert t out.csv -q --output-null 'a,"b' || echo "exit $?"

printf '{"d":"1970-01-02T00:00:00","b":"AP8=","f":"YWI="}\n{"d":null}\n' > bytes.jsonl
printf '{"fields":[{"name":"d","type":"date64"},{"name":"b","type":"binary"},{"name":"f","type":"fixed_size_binary[2]"}]}' > bytes.json
grebe convert bytes.jsonl bytes.parquet --schema bytes.json -q
grebe convert bytes.parquet bytes.csv -q && cat bytes.csv
grebe head bytes.csv --schema bytes.json --format jsonl
printf '{"fields":[{"name":"d","type":"map<string, int32>"}]}' > map.json
grebe head bytes.csv --schema map.json || echo "exit $?"

grebe head bare.csv --delimiter ab || echo "exit $?"
grebe head bare.csv --ragged maybe || echo "exit $?"
grebe head bare.csv --sample-rows none || echo "exit $?"
