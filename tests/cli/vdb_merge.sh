# Merges that have nothing to join, revisions by name, and the way out of histories that went apart.
grebe version --build | grep -qw gitvdb || exit 77
q() { "$@"; echo "exit $?"; }
tips() { git -C ${2:-r.git} rev-list --count refs/git-vdb/collections/$1; }
export GIT_VDB_REPO=r.git
printf '{"id":%d,"vector":[1,%d]}\n' 1 1 2 2 3 3 >p.jsonl
grebe vdb upsert mine p.jsonl
grebe vdb copy mine side
grebe vdb upsert side --id 4 --vector 1,4
grebe vdb delete side --ids 1
echo "-- itself, an ancestor, what is merged already: nothing is written"
q grebe vdb merge mine mine
q grebe vdb merge side mine
q grebe vdb merge side refs/git-vdb/collections/side~1
tips mine; tips side
echo "-- our side is the common version: fast-forward"
q grebe vdb merge mine side
git -C r.git rev-parse refs/git-vdb/collections/mine | cmp - <(git -C r.git rev-parse refs/git-vdb/collections/side) && echo same
q grebe vdb merge mine side
echo "-- both went on"
grebe vdb upsert mine --id 5 --vector 1,5
grebe vdb upsert side --id 6 --vector 1,6
q grebe vdb merge mine side
q grebe vdb merge mine side
tips mine
echo "-- revisions"
q grebe vdb count mine --at side
q grebe vdb count mine --at side~1
q grebe vdb count mine --at nosuch
q grebe vdb restore mine side
q grebe vdb diff mine mine side
q grebe vdb merge mine side~1
q grebe vdb merge mine nosuch
q grebe vdb copy mine old --at refs/git-vdb/collections/mine~3
q grebe vdb count old
q grebe vdb copy mine new --at mine~1
q grebe vdb copy mine new --at refs/git-vdb/collections/mine^{tree}
q grebe vdb copy mine new --at refs/git-vdb/collections/mine:meta.json
echo "-- two clones"
git init -q --bare far.git
git -C r.git remote add origin "$PWD/far.git"
grebe vdb push mine
grebe vdb init here.git --bare
git -C here.git remote add origin "$PWD/far.git"
grebe vdb --db here.git pull mine
grebe vdb upsert mine --id 7 --vector 1,7
grebe vdb push mine
grebe vdb --db here.git upsert mine --id 8 --vector 1,8
q grebe vdb --db here.git push mine
q grebe vdb --db here.git pull mine
q grebe vdb --db here.git merge mine refs/git-vdb/remotes/origin/mine
q grebe vdb --db here.git push mine
q grebe vdb pull mine
test ! -e r.git/FETCH_HEAD && test ! -e here.git/FETCH_HEAD && echo "no FETCH_HEAD"
echo "-- the same by a path"
grebe vdb --db here.git upsert mine --id 9 --vector 1,9
grebe vdb --db here.git push mine ./far.git
grebe vdb upsert mine --id 10 --vector 1,10
q grebe vdb push mine ./far.git
q grebe vdb pull mine ./far.git
q grebe vdb merge mine refs/git-vdb/remotes/far.git/mine
q grebe vdb push mine ./far.git
git -C r.git for-each-ref --format='%(refname)' refs/git-vdb/remotes
git -C r.git fsck --strict --no-dangling 2>&1 | grep -v notice
