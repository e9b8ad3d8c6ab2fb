# Help and usage errors of grebe vdb: an unknown word names the nearest, every wrong combination ends with exit code 2.
q() { "$@"; echo "exit $?"; }
unset GIT_VDB_REPO
q grebe vdb
q grebe vdb --help
q grebe vdb search --help
q grebe vdb collection --help
q grebe vdb collection create --help
q grebe vdb -V
q grebe vdb --db X --version
q grebe vdb doctor --help
q grebe vdb import c --single-comit
q grebe vdb serach c
q grebe vdb collection lsit
q grebe vdb collection
q grebe vdb search
q grebe vdb search c
q grebe vdb search c --vecto 1,2
q grebe vdb search c --vector -1,0
q grebe vdb search c --vector=1,0 --limit -1
q grebe vdb search c --vector=1,0 --limit 1 --limit 2
q grebe vdb search c --vector=1,0 --exact --approximate
q grebe vdb search c --vector=1,0 --id 1
q grebe vdb search c --vector
q grebe vdb search c d
q grebe vdb get c --format xml
q grebe vdb get c --format json --format json
q grebe vdb --db a --repo b get c
q grebe vdb --db '' get c
q grebe vdb collection create c
q grebe vdb collection create c --dimension two
q grebe vdb collection create c --dimension 2 --distance dot
q grebe vdb upsert c
q grebe vdb upsert c points.jsonl --id 1 --vector 1,2
q grebe vdb upsert c --id 1
q grebe vdb delete c --ids 1 --filter '{}'
q grebe vdb merge c d --prefer both
q grebe vdb completions tcsh
q grebe vdb get c
q grebe vdb validate c
ls -A
q grebe vdb delete c --ids 1
q grebe vdb collection create a..b --dimension 2
q grebe vdb collection create a --dimension 0
q grebe vdb upsert a --id 1 --vector 1,x
q grebe vdb upsert a nosuchfile.jsonl
q grebe vdb push a
mkdir full; touch full/file
q grebe vdb --db full get a
q grebe vdb --db full upsert a --id 1 --vector 1,2
q grebe vdb --db full/file get a
for shell in bash elvish fish powershell zsh; do grebe vdb completions $shell | grep -c validate; done
