# A collection is a source, and rows of it make its root again, whatever its ids are.
grebe version --build | grep -qw gitvdb || exit 77
q() { "$@"; echo "exit $?"; }
export GIT_VDB_REPO=r.git
printf '%s\n' '{"id":7,"vector":[1,2],"payload":{"x":0.1}}' '{"id":18446744073709551615,"vector":[1,3]}' >numbers.jsonl
printf '%s\n' '{"id":"7","vector":[1,2],"payload":{"é":[null]}}' '{"id":"","vector":[1,3]}' '{"id":"\"7\"","vector":[1,3]}' >texts.jsonl
cat numbers.jsonl texts.jsonl >mixed.jsonl
for kind in numbers texts mixed; do
    grebe vdb upsert $kind $kind.jsonl
    grebe create t_$kind --from r.git#$kind -q
    grebe vdb import from_table t_$kind
    grebe convert r.git#$kind $kind.parquet -q
    grebe vdb import from_parquet $kind.parquet
    grebe convert r.git#$kind $kind.arrow -q
    grebe vdb import from_arrow $kind.arrow
    grebe vdb import from_itself r.git#$kind
    for copy in from_table from_parquet from_arrow from_itself; do grebe vdb collection delete $copy >deleted; done
done
grebe schema r.git#mixed
grebe head r.git#mixed
grebe count r.git#mixed
grebe count r.git#mixed --where "id = '7'"
grebe scan r.git#numbers --where "id > 7" --columns id --format csv
grebe scan r.git#numbers --columns payload,id --format jsonl
grebe take r.git#mixed --rows 4,0,4 --columns id --format csv
grebe vdb delete numbers --ids 7
grebe head r.git#numbers --format jsonl
grebe head r.git#numbers@refs/git-vdb/collections/numbers~1 --format jsonl
grebe head r.git#numbers r.git#numbers --columns id --format csv
grebe stats gitvdb:r.git#texts --columns id --format csv
q grebe head r.git#none
q grebe head r.git#numbers@none
q grebe head r.git#
q grebe head none.git#numbers
q grebe head gitvdb:none.git#numbers
q grebe head gitvdb:r.git
q grebe scan r.git#numbers --columns vectr
grebe info r.git#mixed
grebe info r.git#mixed --format json
grebe check r.git#mixed
q grebe explain r.git#mixed
# a file of that name is a file
cp numbers.jsonl 'r.git#numbers.jsonl'
grebe count 'r.git#numbers.jsonl'
git init -q tree && GIT_VDB_REPO=tree grebe vdb upsert c numbers.jsonl && grebe count tree#c
