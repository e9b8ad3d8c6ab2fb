# Graphs for training: what is wrong is told, what is right is made, opened and verified.
grebe version --build | grep -qw yaml || exit 77
q() { "$@"; echo "exit $?"; }
mkdir -p g/set
printf '0,1\n0,1\n2,1\n1,0\n0,1\n' >g/e.csv
cat >g/metadata.yaml <<'END'
dataset_name: tiny
graph:
  nodes:
  - num: 4
  edges:
  - format: csv
    path: e.csv
END

echo "# check"
q grebe graph check g
q grebe graph check g --deep
sed 's/num: 4/num: 1e3/; s/format: csv/format: parquet/' g/metadata.yaml >bad.yaml
mkdir bad
mv bad.yaml bad/metadata.yaml
q grebe graph check bad
q grebe graph check bad --format jsonl
q grebe graph preprocess bad
q grebe graph check nope
printf '0,1\n4,1\n' >bad/e.csv
cp g/metadata.yaml bad/
q grebe graph check bad --deep
q grebe graph preprocess bad
ls bad

echo "# ids in sets"
cp -r g sets
cat >>sets/metadata.yaml <<'END'
tasks:
- train_set:
  - data:
    - {name: seeds, format: numpy, path: set/seeds.npy}
    - {name: labels, format: numpy, path: set/labels.npy}
END
printf 's,l\n3,7\n0,8\n4,9\n' >sets.csv
grebe convert sets.csv sets/set/seeds.npy --columns s -q
grebe convert sets.csv sets/set/labels.npy --columns l -q
q grebe graph check sets
q grebe graph check sets --deep
q grebe graph preprocess sets
ls sets

echo "# preprocess"
q grebe graph preprocess g
q grebe graph preprocess g
q grebe graph preprocess g --no-cast
touch g/e.csv
q grebe graph preprocess g --no-cast
printf '0,1\n0,1\n2,1\n1,0\n0,2\n' >g/e.csv
q grebe graph preprocess g --no-cast --threads 4
mkdir other
q grebe graph preprocess g --out other --no-original-edge-id
ls other other/preprocessed
echo "# info, verify"
q grebe graph info g --format csv
q grebe graph verify g
q grebe graph info other/preprocessed --format jsonl
q grebe graph info bad
q grebe graph verify g --format csv
printf 'src,dst\n0,1\n' >bad/e.csv
q grebe graph preprocess bad
q grebe graph preprocess bad --csv-header
printf '0\t1\n' >bad/e.csv
q grebe graph preprocess bad
q grebe graph preprocess bad --csv-sep tab
q grebe graph preprocess bad --csv-sep 12

echo "# edges as Parquet"
mkdir p
printf 'src,dst\n0,1\n2,3\n0,1\n' >h.csv
grebe convert h.csv p/e.parquet -q
sed 's/csv/parquet/' g/metadata.yaml >p/metadata.yaml
q grebe graph preprocess p
q grebe graph info p --format csv
printf 'src,dst\n0,1\n2,4\n' >h.csv
grebe convert h.csv p/e.parquet -q
q grebe graph check p --deep
printf 'a,b,c\n0,1,2\n' >h.csv
grebe convert h.csv p/e.parquet -q
q grebe graph check p
