# Out of a graph and into one: export, init, and both one after the other.
grebe version --build | grep -qw yaml || exit 77
q() { "$@"; echo "exit $?"; }
CASES=$GOLDEN/../data/graphbolt/cases

echo "# export: what was exported, preprocessed and exported again is the same"
for name in homo_attr homo_csv hetero_attr hetero_mix many_types dtypes one_named_type; do
    grebe graph export "$CASES/$name/dgl_preprocessed" $name
    grebe graph check $name --deep -q
    grebe graph preprocess $name -q >/dev/null
    grebe graph export $name again -q >/dev/null
    rm -r $name/preprocessed
    diff -r $name again && rm -r again
done
find hetero_mix -type f | sort
cp -r "$CASES/hetero_mix/dgl_preprocessed" g
grebe graph preprocess hetero_mix -q >/dev/null
for part in edges:author:writes:paper edges:paper:cites:paper node:paper:x set:0:train:paper; do
    grebe scan "g#$part" --format csv >one
    grebe scan "hetero_mix#$part" --format csv | cmp - one
done

echo "# export: attributes that stand in the order of the files are those of the files"
cp -r "$CASES/hetero_attr/raw" ordered
grebe graph preprocess ordered -q >/dev/null
for part in u:knows:u w:a:u v:rlikes:u; do
    grebe scan "ordered#edges:$part" --format csv >${part%%:*}.csv
done
q grebe graph preprocess ordered --dgl-edge-attr-order
for part in u:knows:u w:a:u v:rlikes:u; do
    grebe scan "ordered#edges:$part" --format csv | cmp - ${part%%:*}.csv
done
for from in ordered "$CASES/hetero_attr/dgl_preprocessed"; do
    grebe graph export "$from" ordered_out -q >/dev/null
    for file in ordered/graph_attr/*__*.npy; do
        name=$(basename $file | tr - _ | sed 's/_\([a-z]*\.npy\)/__\1/')
        grebe scan $file --format csv >one
        grebe scan ordered_out/attributes/edge__$name --format csv | cmp - one
    done
    rm -r ordered_out
done
sed -i '/^feature_data:/,/^tasks:/ { /^tasks:/!d }' ordered/metadata.yaml
q grebe graph preprocess ordered --no-original-edge-id
grebe schema 'ordered#edges:u:knows:u' --format csv | cut -d, -f1 | paste -sd' '
grebe graph sample ordered --seeds 0 --type u --fanouts 1 --format csv | head -1
q grebe graph export ordered ordered_out
grep -c 'domain: edge' ordered_out/metadata.yaml
q grebe graph preprocess ordered --no-original-edge-id --dgl-edge-attr-order
grebe schema 'ordered#edges:u:knows:u' --format csv | cut -d, -f1 | paste -sd' '
q grebe graph export ordered none
q grebe graph export ordered none --file-format csv
ls -d none*

echo "# export, preprocess: names that are too long for a file are cut after a character"
type=a$(printf 'é%.0s' $(seq 100))
name=$(printf 'é%.0s' $(seq 125))
mkdir long
printf '0,1\n1,0\n' >long/e.csv
printf '1\n2\n' >column.csv
grebe convert column.csv long/x.npy --header no -q
cp long/x.npy "long/aaa$name.z" # 255 bytes, with an ending that is not that of npy
cat >long/metadata.yaml <<END
graph:
  nodes: [{type: $type, num: 2}]
  edges: [{type: '$type:r:$type', format: csv, path: e.csv}]
feature_data:
- {domain: node, type: $type, name: x, format: numpy, path: aaa$name.z}
- {domain: node, type: $type, name: y, format: numpy, path: ./aaa$name.z}
END
q grebe graph preprocess long -q
(cd long/preprocessed && ls *.npy | iconv -f utf-8 -t utf-8 | wc -lc)
for format in npy csv; do
    q grebe graph export long long_$format --file-format $format
    find long_$format -type f | sort | iconv -f utf-8 -t utf-8 | wc -lc
done
q grebe graph preprocess long_npy -q

echo "# tables"
q grebe graph export g tables --file-format parquet
find tables -type f | sort
q grebe head tables/edges/author__writes__paper.parquet --limit 2 --format csv
q grebe head tables/sets/0__train__paper.parquet --limit 2 --format csv
q grebe graph export "$CASES/homo_attr/dgl_preprocessed" csv --file-format csv
head -2 csv/edges/edges.csv
q grebe graph export g tables
q grebe graph export g one
q grebe graph export g new --file-format vortex
q grebe graph export nope new
ls -d new*

echo "# init"
mkdir in
printf '0,1\n2,1\n1,3\n' >in/e.csv
q grebe graph init in in/e.csv
cat in/metadata.yaml
q grebe graph check in --deep
q grebe graph preprocess in
q grebe graph init in in/e.csv
q grebe graph init in in/e.csv --nodes 6 --name six --force
grep -E 'num|name' in/metadata.yaml
cd hetero_mix
q grebe graph init . author:writes:paper=edges/author__writes__paper.npy paper:cites:paper=edges/paper__cites__paper.npy \
    paper:x=features/node__paper__x.npy author:x=features/node__author__x.npy \
    author:writes:paper:score=features/edge__author__writes__paper__score.npy --force
cat metadata.yaml
cd ..
q grebe graph check hetero_mix --deep
printf 'src,dst,w\n0,1,3\n2,0,4\n' >t.csv
grebe create t --from t.csv -q
grebe convert t t.parquet -q
q grebe graph init from_table user:likes:item=t --src src --dst dst --nodes user=5
cat from_table/metadata.yaml
q grebe scan from_table/edges/0.npy --format csv
q grebe graph check from_table --deep
q grebe graph preprocess from_table
q grebe scan 'from_table#edges:user:likes:item' --format csv
q grebe graph init from_csv t.csv --src src --dst dst
q grebe graph init from_parquet t.parquet --src src --dst dst
cmp from_csv/edges/0.npy from_parquet/edges/0.npy

echo "# init: tasks"
printf 'node,label\n0,5\n2,6\n' >items.csv
mkdir arrays
grebe convert items.csv arrays/s.npy --columns node -q
grebe convert items.csv arrays/y.npy --columns label -q
cp in/e.csv arrays/
q grebe graph init arrays arrays/e.csv --train seeds=arrays/s.npy --train labels=arrays/y.npy --test seeds=arrays/s.npy \
    --test labels=arrays/y.npy --task name=club --task num_classes=7
cat arrays/metadata.yaml
q grebe graph check arrays --deep
q grebe graph preprocess arrays
q grebe scan 'arrays#set:0:test' --format csv
q grebe graph init nodes user:likes:item=t.csv --src src --dst dst --train user:seeds=items.csv --train user:labels=items.csv --seeds node --labels label
grep -A99 tasks nodes/metadata.yaml
q grebe graph preprocess nodes
q grebe scan 'nodes#set:0:train:user' --format csv
q grebe graph init links user:likes:item=t.csv --src src --dst dst --validation user:likes:item:seeds=t.parquet --validation user:likes:item:w=t
grep -A99 tasks links/metadata.yaml
q grebe graph preprocess links
q grebe scan 'links#set:0:validation:user:likes:item' --format csv
q grebe graph init new arrays/e.csv --train seeds=arrays/s.npy --nodes 2 2>&1 | sed "s,$PWD/,,"
q grebe graph init new arrays/e.csv --train seeds=items.csv --seeds label 2>&1 | sed "s,$PWD/,,"
q grebe graph init new arrays/e.csv --train seeds=items.csv
q grebe graph init new arrays/e.csv --train items.csv
q grebe graph init new arrays/e.csv --task name=x
q grebe graph init new arrays/e.csv --train seeds=arrays/s.npy --train seeds=arrays/y.npy
q grebe graph init new arrays/e.csv --train seeds=arrays/s.npy --task k=7 --task k=8
q grebe graph init new arrays/e.csv --train seeds=arrays/s.npy --task train_set=1
q grebe graph init new arrays/e.csv --nodes 20 --nodes 30
q grebe graph init new arrays/e.csv --seeds u
q grebe graph init new arrays/e.csv --train seeds=arrays/s.npy --labels u
q grebe graph init new arrays/e.csv --train a:seeds=arrays/s.npy

echo "# init: errors"
cp t.csv in/
q grebe graph init new in/t.csv 2>&1 | sed "s,$PWD/,,"
q grebe graph init new in/e.csv --nodes 3 2>&1 | sed "s,$PWD/,,"
q grebe graph init new t.csv --src src --dst d
q grebe graph init new t.csv --src src
q grebe graph init new user:likes=in/e.csv
q grebe graph init new a:b:c:d:e=in/e.csv
q grebe graph init new user:likes:item=in/e.csv feat=hetero_mix/features/node__paper__x.npy
q grebe graph init new in/e.csv --nodes many
q grebe graph init new hetero_mix/features/node__paper__x.npy
q grebe graph init new nope.csv
q grebe graph init new in/e.csv hetero_mix/features/node__author__x.npy --nodes 4 2>&1 | sed "s,$PWD/,,"
printf 'src,dst\n0,\n' >null.csv
q grebe graph init new null.csv --src src --dst dst
printf 'src,dst\n0,b\n' >text.csv
q grebe graph init new text.csv --src src --dst dst
find . -name 'new*'
