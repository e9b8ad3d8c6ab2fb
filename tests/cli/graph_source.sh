# Parts of a graph, members of npz and torch files as sources of rows.
grebe version --build | grep -qw yaml || exit 77
q() { "$@"; echo "exit $?"; }
CASES=$GOLDEN/../data/graphbolt/cases PT=$GOLDEN/../data/graphbolt/pt
cp -r "$CASES/hetero_mix/dgl_preprocessed" g

echo "# features"
q grebe head 'g#node:paper:x' --limit 2 --format csv
q grebe schema 'g#edge:author:writes:paper:score' --format csv
q grebe count 'g#node:inst:id'
q grebe take 'g#node:inst:id' --rows 3,0,3 --format csv
q grebe scan 'g#node:inst:id' --where 'vector[0] > 2' --with-row-id --format csv
q grebe count 'g#node:paper:x' 'g#node:paper:x'

echo "# edges as their file has them"
grebe scan 'g#edges:author:writes:paper' --columns source,target --format csv | tail -n +2 |
    diff - "$CASES/hetero_mix/raw/edges/author__writes__paper.csv"
q grebe take 'g#edges:author:writes:paper' --rows 19,0,19 --format csv
q grebe count 'g#edges:inst:void:paper'
q grebe check 'g#edges:paper:cites:paper' --deep
q grebe scan 'g#nodes:inst' --format csv

echo "# sets"
q grebe scan 'g#set:0:train:paper' --format csv
q grebe head 'g#set:1:train:paper:cites:paper' --limit 1 --format jsonl

echo "# without types, with attributes"
cp -r "$CASES/homo_attr/dgl_preprocessed" h
q grebe schema h#edges --format csv
q grebe head h#edges --limit 2 --format jsonl
grebe head h 2>&1 | cut -c1-60

echo "# npz, torch, npy of three dimensions"
q grebe scan "$GOLDEN/array/two.npz#x" --format csv
q grebe take "$GOLDEN/array/two.npz#label" --rows 3,0 --format csv
q grebe scan "$GOLDEN/array/one.npz" --format csv
q grebe scan "$GOLDEN/array/cube.npy" --format csv
q grebe scan "$PT/bf16.pt" --format csv
q grebe scan "$PT/transposed_3x2.pt" --format csv
q grebe scan "$PT/scalar.pt" --format csv
q grebe convert "$PT/f32.pt" f.parquet -q
q grebe scan f.parquet --format csv

echo "# types that look like folders, options, patterns"
mkdir odd
printf '0,1\n1,0\n' >odd/e.csv
printf 'v\n7\n8\n' >v.csv
grebe convert v.csv odd/v.npy -q
printf 's\n1\n' >s.csv
for type in .. ../.. a/../b x//y ./z /abs a%2Fb 'x#y' 't*[r]?'; do
    grebe graph init odd "$type:r:$type=odd/e.csv" "$type:feat=odd/v.npy" --train "$type:seeds=s.csv" --seeds s --force -q >/dev/null
    echo "$type"
    for when in before after; do
        grebe scan "odd#node:$type:feat" --format csv | paste -sd' '
        [ $when = before ] && grebe graph preprocess odd -q >/dev/null
    done
    grebe scan "odd#edges:$type:r:$type" --format csv | paste -sd' '
    grebe scan "odd#set:0:train:$type" --format csv | paste -sd' '
    grebe count "odd#nodes:$type" --format csv | paste -sd' '
    grebe graph export odd tables --file-format csv -q >/dev/null
    find tables -type f | wc -l
    rm -r odd/preprocessed tables
done
long=$(printf 'n%.0s' {1..200})
grebe graph init odd "$long:r:$long=odd/e.csv" --force -q >/dev/null
grebe graph preprocess odd -q >/dev/null
grebe scan "odd#edges:$long:r:$long" --format csv
q grebe scan 'odd#edges:a//b:r:a/b' 2>&1 | cut -c1-58

echo "# errors"
cp "$GOLDEN/array/two.npz" "$PT/c64.pt" "$PT/forbidden_global.pt" .
q grebe head 'g#node:papr:x'
q grebe head 'g'
q grebe head 'g#'
q grebe head two.npz
q grebe head two.npz#labl
q grebe head c64.pt
q grebe head forbidden_global.pt
head -c 300 two.npz >cut.npz
q grebe head cut.npz#x
cp -r "$CASES/hetero_mix/raw" raw
q grebe head 'raw#node:papr:x'
q grebe head 'raw#edges:author:writes:paper'
q grebe head raw

echo "# features before they are preprocessed"
for part in node:paper:x node:author:x node:inst:id edge:author:writes:paper:score; do
    grebe scan "g#$part" --format csv >one
    grebe scan "raw#$part" --format csv | cmp - one
done
q grebe take 'raw#node:author:x' --rows 5,0 --format csv
