# Points from rows of any source: the same content has the same root, from wherever it comes.
grebe version --build | grep -qw gitvdb || exit 77
q() { "$@"; echo "exit $?"; }
export GIT_VDB_REPO=r.git
for n in 500 10000; do
    grebe convert "$DATA/glove_20k.parquet" w$n.parquet --where "rank < $n" -q
    grebe vdb import w$n w$n.parquet --id-column rank --single-commit
done
grebe create t --from w500.parquet -q
grebe vdb import table t --id-column rank
grebe convert w500.parquet w500.jsonl -q
grebe head w500.jsonl -n 500 --format jsonl | sed 's/"rank"/"id"/' >w.ndjson
grebe vdb import lines w.ndjson --single-commit
grebe convert w500.parquet w500.arrows -q
grebe vdb import stream w500.arrows --id-column rank --batch-size 100
printf 'key,v,payload,lang\n1,"0.5,1","{""b"":1.50}",de\n2,"[2,-1]",,\n' >p.csv
grebe vdb import csv p.csv --id-column key --vector-column v
grebe vdb get csv --with-payload --with-vector
grebe vdb import csv p.csv p.csv --id-column key --vector-column v
# what is refused, with the row
printf 'id,vector\na,"1,2"\nb,"1"\n' >short.csv
printf 'id,vector\na,"1,x"\n' >word.csv
printf 'id,vector,payload,a\nx,"1,2","{""a"":1}",2\n' >twice.csv
printf '{"id":1,"vector":[1,2]}\n{"id":-1,"vector":[1,2]}\n' >negative.ndjson
q grebe vdb import bad short.csv
q grebe vdb import bad word.csv
q grebe vdb import bad twice.csv
q grebe vdb import bad negative.ndjson
q grebe vdb import bad p.csv
q grebe vdb import bad p.csv --id-column key
q grebe vdb import bad p.csv --id-column lang --vector-column v
q grebe vdb import csv w500.parquet --id-column rank
q grebe vdb import csv p.csv --id-column key --vector-column v --expect-root 0000000000000000000000000000000000000000
q grebe vdb count bad
git -C r.git log --format=%s refs/git-vdb/collections/stream
