# Lines of JSON have one rule, whether one file or several, packed or from a pipe: other members join the payload.
grebe version --build | grep -qw gitvdb || exit 77
q() { "$@"; echo "exit $?"; }
export GIT_VDB_REPO=r.git
printf '%s\n' '{"id":1,"vector":[1,0],"lang":"de","z":{"b":1,"a":[2,null]}}' \
    '{"k\u0065y":"k","id":"x","vector":[1,1.5],"payload":{"p":1.50,"z":0},"a":null,"a":1}' >a.jsonl
printf '%s\n' '{"id":3,"v":[1,0.5],"vector":[9],"payload":null}' '["key",[1,2],{"q":1}]' '' \
    '{"id":5,"v":"0.5,1","payload":"{\"t\":1}","l":1.0}' >v.ndjson
grebe vdb import a a.jsonl
grebe vdb export a
grebe vdb import v v.ndjson --vector-column v
grebe vdb export v
echo "-- several are one input; packed, patterns, a pipe"
gzip -k a.jsonl
printf '{"id":9,"vector":[2,2.5]}' >b.jsonl # without a line feed at its end
printf '{"id":10,"vector":[-2,1]}\n' >c.ndjson
grebe vdb import several b.jsonl a.jsonl c.ndjson --single-commit
grebe vdb import packed b.jsonl a.jsonl.gz c.ndjson --single-commit
grebe vdb import pattern '[ab].jsonl' 'c*' --single-commit
cat b.jsonl <(echo) a.jsonl c.ndjson | grebe vdb import pipe - --single-commit
cat a.jsonl.gz | grebe vdb import unpacked b.jsonl - c.ndjson --batch-size 2
grebe vdb import named jsonl:<(cat a.jsonl)
echo "-- too much to keep: read twice"
for i in $(seq 1 3); do seq 1 9000 | sed "s/.*/{\"id\":&0$i,\"vector\":[&,1,2,3,4,5,6,7],\"n\":&,\"text\":\"$(printf 'x%.0s' $(seq 300))\"}/" >big$i.jsonl; done
gzip big2.jsonl
grebe vdb import big big1.jsonl big2.jsonl.gz big3.jsonl --batch-size 20000
gunzip big2.jsonl.gz
cat big?.jsonl | grebe vdb import again - --single-commit
echo "-- standard input of another kind"
printf 'id,vector,l\n1,"1,2",de\n' | grebe vdb import csv - --input-format csv
grebe vdb export csv
echo "-- upsert passes over what git-vdb passes over"
grebe vdb upsert plain a.jsonl
grebe vdb export plain
echo "-- refused, and nothing is made"
printf '{"id":1,"vector":[1,0]}\n{"id":2.5,"vector":[1,0]}\n' >fraction.jsonl
printf '{"id":1,"vector":[1],"b":1,"payload":{"b":2}}\n' >twice.jsonl
printf '{"id":1,"vector":"1,x"}\n' >word.jsonl
printf '{"id":1,"vector":""}\n' >empty.jsonl
printf '{"id":1,"vector":[1],"payload":[1]}\n' >list.jsonl
printf '{"id":1,"vector":[1],"payload":"[1]"}\n' >text.jsonl
printf '{"id":1,"vector":[1],"b":}\n' >broken.jsonl
head -c 30 a.jsonl.gz >cut.jsonl.gz
for file in fraction twice word empty list text broken; do q grebe vdb import bad $file.jsonl; done
q grebe vdb import bad cut.jsonl.gz
q grebe vdb import bad a.jsonl fraction.jsonl
q grebe vdb import bad a.jsonl --id-column key
q grebe vdb import bad a.jsonl p.csv
q grebe vdb import bad nosuch.jsonl
q grebe vdb import bad - - </dev/null
q grebe vdb import bad - </dev/null
q grebe vdb import bad a.jsonl --batch-size 0
q grebe vdb count bad
