# Every form of output; searches by vector, by id and for many vectors; fields of payloads; export and import give the same root.
export GIT_VDB_REPO=r.git
cat > points.jsonl <<'END'
{"id":1,"vector":[1,0],"payload":{"word":"one","deep":{"x":1.50,"y":[1,null]},"n":1}}
{"id":"two","vector":[0.0,1e0],"payload":{"word":"zwei\u00e9","n":2}}

 {"vector": [-1, 0.25], "id": 3}
["four",[0.1,0.2],{"n":4}]
END
grebe vdb upsert words points.jsonl
grebe vdb upsert words --id '"1"' --vector '[0.3, 0.4]' --payload '{"word":"the string 1"}'
grebe vdb collection info words
grebe vdb collection info words --format pretty
grebe vdb collection list --format jsonl
for form in json pretty jsonl table csv; do
    echo "-- $form"
    grebe vdb get words --with-payload --with-vector --format $form
    grebe vdb search words --vector=1,0.5 --limit 3 --with-payload --format $form
    grebe vdb count words --format $form; echo "exit $?"
done
echo "-- ids, filters, pages"
grebe vdb get words --ids 1 two nothing
grebe vdb get words --ids '"1"'
grebe vdb get words --offset 1 --limit 2
grebe vdb get words --filter '{"must":[{"key":"n","range":{"gte":2}}]}' --with-payload
echo '{"must_not":[{"has_field":"word"}]}' > filter.json
grebe vdb count words --filter filter.json
grebe vdb count words --filter - < filter.json
grebe vdb count words --filter '{"mist":[]}'; echo "exit $?"
grebe vdb count words --filter '{"must":[{"key":"n"}]}' ; echo "exit $?"
grebe vdb count words --filter '{"must":[{"kee":"n"}]}' ; echo "exit $?"
grebe vdb count words --filter '{"must":[{"kee":"n"}]}' --lenient; echo "exit $?"
echo "-- searches"
grebe vdb search words --id 1 --limit 2
grebe vdb search words --id nothing; echo "exit $?"
printf '[1,0]\n{"vector":[0,1]}\n0.5,0.5\n' > queries
grebe vdb search words --queries queries --limit 2 || cat queries
printf '[1,0]\n[0,1]\n' | grebe vdb search words --queries - --limit 1 --format csv
grebe vdb search words --vector=1,0 --approximate --probes 1 --limit 1
grebe vdb search words --vector=1,0 --fields word,deep.x --limit 3
grebe vdb search words --vector=1,0 --fields nothing --limit 1
grebe vdb search words --vector=1,0,0; echo "exit $?"
grebe vdb search words --vector=1,nan; echo "exit $?"
echo "-- export, import, versions"
grebe vdb export words > all.jsonl
cat all.jsonl
grebe vdb import again all.jsonl
grebe vdb import shuffled - < <(tac all.jsonl)
grebe vdb import again all.jsonl --expect-root 0000000000000000000000000000000000000000; echo "exit $?"
grebe vdb export words --at refs/git-vdb/collections/words~1 | wc -l
grebe vdb delete words --ids two 3
grebe vdb diff words refs/git-vdb/collections/words~1 refs/git-vdb/collections/words
grebe vdb restore words refs/git-vdb/collections/words~1
grebe vdb history words --format jsonl | sed -E 's/[0-9a-f]{40}/OID/g; s/"time_seconds":[0-9]+/TIME/'
grebe vdb copy words copy
grebe vdb rename copy other
grebe vdb upsert other --id 9 --vector=9,9
grebe vdb merge words refs/git-vdb/collections/other
grebe vdb upsert other --id 9 --vector=8,8
grebe vdb upsert words --id 9 --vector=7,7
grebe vdb merge words refs/git-vdb/collections/other; echo "exit $?"
grebe vdb merge words refs/git-vdb/collections/other --prefer theirs
grebe vdb validate words --full
grebe vdb doctor | sed 's/"database":"[^"]*"/DATABASE/'
grebe vdb gc --grace 0 > gc.out; echo "gc $?"
grebe vdb validate words --full
git -C r.git fsck --strict --no-dangling 2>&1 | grep -v notice
grebe vdb collection delete other
grebe vdb collection list | tr ',' '\n' | grep '"name"'
