# Every command gives rows, and one that writes never fails behind its commit; export in every form.
grebe version --build | grep -qw gitvdb || exit 77
q() { "$@"; echo "exit $?"; }
export GIT_VDB_REPO=r.git
printf '%s\n' '{"id":1,"vector":[1,0],"payload":{"n":1}}' '{"id":"x","vector":[1,1],"payload":{"n":2}}' >p.jsonl
echo "-- writes"
q grebe vdb collection create a --dimension 2 --format csv
q grebe vdb upsert a p.jsonl --format csv
q grebe vdb upsert a --id 7 --vector 0,1 --format csv
q grebe vdb import a p.jsonl --format csv
q grebe vdb delete a --ids 7 --format csv
q grebe vdb restore a refs/git-vdb/collections/a~2 --format csv
q grebe vdb copy a b --format csv
q grebe vdb rename b c --format csv
q grebe vdb delete a --ids 1 --format csv
q grebe vdb merge c a --format csv
q grebe vdb collection delete c --format csv
q grebe vdb init made.git --bare --format csv
q grebe vdb push a made.git --format csv
q grebe vdb pull a made.git --format csv
git -C r.git log --format=%s refs/git-vdb/collections/a
echo "-- reads"
q grebe vdb collection list --format csv
q grebe vdb collection info a --format csv
q grebe vdb history a --format csv
q grebe vdb count a --format table
q grebe vdb validate a --format csv
q grebe vdb doctor --format csv
q grebe vdb stats a --format csv
q grebe vdb diff a refs/git-vdb/collections/a~4 refs/git-vdb/collections/a --format csv
q grebe vdb diff a refs/git-vdb/collections/a refs/git-vdb/collections/a --format csv
q grebe vdb --db made.git collection delete a --format table
q grebe vdb --db made.git collection list --format csv
q grebe vdb --db made.git doctor --format csv
grebe vdb history a --format arrow >history.arrows && grebe count history.arrows
echo "-- conflicts are rows"
grebe vdb copy a side --at refs/git-vdb/collections/a~1
grebe vdb upsert a --id 1 --vector 3,3
grebe vdb upsert side --id 1 --vector 4,4
q grebe vdb merge a side --format csv
echo "-- export"
q grebe vdb export a --format csv
q grebe vdb export a --format table
q grebe vdb export a --filter '{"must":[{"key":"n","match":{"value":2}}]}'
q grebe vdb export a --filter '{"must":[{"key":"n","match":{"value":2}}]}' --format csv
grebe vdb export a --format arrow >a.arrow && grebe vdb import again a.arrow && grebe vdb count a
q grebe vdb count a --ids 1 x nothing
printf '[1,0]\n{"vector":[0,1]}\n0.5,0.5\n' | grebe vdb search a --queries - --limit 1 --format jsonl
