# Degrees of a graph and their picture; neighbours of seeds as rows.
grebe version --build | grep -qw yaml || exit 77
q() { "$@"; echo "exit $?"; }
mkdir -p g t
printf '0,1\n0,1\n2,1\n1,0\n3,3\n' >g/e.csv
cat >g/metadata.yaml <<'END'
dataset_name: tiny
graph:
  nodes:
  - num: 5
  edges:
  - format: csv
    path: e.csv
END
printf '0,1\n2,1\n2,0\n' >t/writes.csv
printf '0,2\n1,0\n1,2\n' >t/cites.csv
cat >t/metadata.yaml <<'END'
dataset_name: typed
graph:
  nodes:
  - type: author
    num: 3
  - type: paper
    num: 3
  edges:
  - type: author:writes:paper
    format: csv
    path: writes.csv
  - type: paper:cites:paper
    format: csv
    path: cites.csv
END
grebe graph preprocess g -q
grebe graph preprocess t -q

echo "# info"
q grebe graph info g --format csv
q grebe graph info t --format jsonl
q grebe graph info t --quick --format csv --plot d.svg
grep -c 'in author:writes:paper' d.svg
q grebe graph info g --quick -q --plot d.html >/dev/null
head -c 15 d.html
echo
q grebe graph info g --plot d.png

echo "# sample"
q grebe graph sample g --seeds 1 --fanouts -1 --format csv
q grebe graph sample g --seeds 1,3 --fanouts all,2 --format jsonl
printf '3\n1\n' >seeds.txt
q grebe graph sample g --seeds-from seeds.txt --fanouts all --nodes --format csv
q grebe graph sample t --type paper --seeds 0:3 --fanouts 0/all,all/1 --format csv
q grebe graph sample t --type paper --seeds 0:3 --fanouts all --nodes --format csv
grebe graph sample g --seeds 0:5 --fanouts 2,2 --seed 7 --threads 1 --format csv >one
grebe graph sample g --seeds 0:5 --fanouts 2,2 --seed 7 --threads 4 --format csv | cmp - one
grebe graph sample g --seeds 1 --fanouts 4 --replace --format csv | wc -l
grebe graph sample g --seeds 1 --fanouts 2 --labor --format csv | wc -l

echo "# errors"
q grebe graph sample t --seeds 0 --fanouts 1
q grebe graph sample t --seeds 0 --fanouts 1 --type papr
q grebe graph sample g --seeds 0 --fanouts 1 --type paper
q grebe graph sample g --seeds 5 --fanouts 1
q grebe graph sample g --seeds 0 --fanouts 1,x
q grebe graph sample t --seeds 0 --fanouts 1/2,1 --type paper
q grebe graph sample g --seeds 0
q grebe graph sample g --fanouts 1
q grebe graph sample g --seeds 0 --fanouts 1 --weight w
