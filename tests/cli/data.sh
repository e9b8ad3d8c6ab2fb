# Data sets of the command: what is loaded, changed, streamed, saved; the orders are those of `datasets`.
q() { "$@"; echo "exit $?"; }
export HF_HOME=$PWD/home
mkdir reviews
for i in $(seq 0 29); do echo "{\"id\": $i, \"text\": \"review $i\", \"label\": $((i % 3))}"; done >all.jsonl
head -n 20 all.jsonl >reviews/train.jsonl
tail -n 10 all.jsonl >reviews/test.jsonl
ids() { grebe scan "$1" -c id --format csv | tail -n +2 | tr '\n' ' '; echo; }

echo "# load, info"
grebe data load reviews --format jsonl | sed -E 's/,"fingerprint".*//'
grebe data load reviews --split 'test[:50%]' --format jsonl | sed -E 's/,"fingerprint".*//'
grebe data info reviews --format jsonl
printf 'id;t\n1;a\n2;b\n' >semi.csv
grebe data load csv --data-files semi.csv --option 'sep=;' --format csv | cut -d, -f1-4
echo '{"id": {"dtype": "string", "_type": "Value"}, "t": {"dtype": "string", "_type": "Value"}}' >f.json
grebe data info csv --data-files train=semi.csv --option 'sep=;' --features f.json --format jsonl
q grebe data load nope
q grebe data load csv --data-files semi.csv --option nonsense=1

echo "# save, and the folder as a source"
q grebe data save reviews saved
grebe data info saved --format jsonl | sed -E 's/,"fingerprint".*//'
grebe head 'saved#test' -n 2
q grebe count saved
q grebe count 'saved#nope'
grebe count 'saved#train' --where 'label = 1'
grebe schema 'saved#train' --format json
q grebe data save 'saved#train' one --num-shards 3
ls one

echo "# changes"
q grebe data map all.jsonl mapped --set 'n = length(text)' --set 'twice = id * 2' --remove text
grebe head mapped -n 3
q grebe data filter mapped kept --where 'twice > 50'
ids kept
q grebe data shuffle mapped mixed --seed 42
ids mixed
q grebe data split mapped parts --test 0.2 --seed 42
ids 'parts#test'
q grebe data sort mapped sorted --by label,-id
ids sorted
q grebe data select mapped some --rows 9,0,-1 --columns twice,id
grebe scan some --format csv
q grebe data select mapped some --rows 2:4
ids some
q grebe data export mapped out.parquet --columns id
grebe count out.parquet
q grebe data filter mapped x --where 'nope > 1'
q grebe data split mapped x --test 40
q grebe data sort mapped x

echo "# any other source"
grebe create table --from all.jsonl -q
q grebe data map table from_table --set 'id = id + 100' --remove text
ids from_table
head -n 3 all.jsonl | grebe data save - from_stdin --input-format jsonl
ids from_stdin
head -n 3 all.jsonl | grebe data stream - --input-format jsonl --columns id --format csv
grebe data stream table --limit 2 --format jsonl

echo "# streams"
stream() { grebe data stream all.jsonl --columns id --format csv "$@" | tail -n +2 | tr '\n' ' '; echo; }
stream
stream --skip 3 --take 4
stream --shuffle-buffer 8 --seed 42
stream --shuffle-buffer 8 --seed 42 --epoch 1
stream --shuffle-buffer 8 --seed 42 --limit 11 --save-state s.json
stream --shuffle-buffer 8 --seed 42 --state s.json
q grebe data stream all.jsonl --shuffle-buffer 8 --seed 43 --state s.json
q grebe data stream all.jsonl --shuffle-buffer 8 --save-state s.json
q grebe data stream reviews
grebe data stream reviews --split test --where 'id > 27' --format jsonl
grebe data stream saved --split test --shards 2 --columns id --limit 3 --format csv

echo "# the cache"
grebe cache ls --format csv | cut -d, -f2,3,7 | sort
q grebe cache rm
grebe cache rm --all --dry-run --format csv | cut -d, -f2,3,9 | sort
grebe cache rm --all --format csv | wc -l
grebe cache ls --format csv | wc -l
