# Runs, evaluations and plots: what is deterministic of them.
q() { "$@"; echo "exit $?"; }
cp -r $GOLDEN/../data/ann/{good,result} . && A=.
some() { grep -E "^  \"|\"($1)\":" | tr -d ' ,'; }
echo "run"
grebe ann run $A/good/dense_l2_f32.hdf5 --index flat --index "hnsw M=8" --sweep hnsw:ef=200,300 -k 5 -o r.json -q
some "recall_avg|search_param|measurement_sample_count|recall_rule|topk|index" <r.json
echo "results as files, and what they are worth"
grebe ann run $A/good/dense_l2_f32.hdf5 --index flat --results found.hdf5 --queries 50 --threads 2 -q -o x.json
cp found.hdf5 found.h5
grebe ann eval $A/good/dense_l2_f32.hdf5 found.hdf5 --format json | some "recall_avg|index|measurement_sample_count|query_count"
grebe ann eval $A/good/dense_l2_f32.hdf5 $A/result/some_wrong.* --recall vsag --format json | some "recall_avg|recall_rule|ties|id|annb|bigann"
echo "modes"
for mode in knn_filter range range_filter; do
    grebe ann run $A/good/dense_l2_labels.hdf5 --index flat --mode $mode --range 6 -k 5 --format json | some "recall_avg|precision|search_mode|range|result_count"
done
echo "exports"
grebe ann run $A/good/sparse_ip.hdf5 --index sparse --no-warmup --export line_protocol:stdout --export table:file://t/t.txt |
    sed -E 's/=[0-9.e-]+/=N/g; s/ [0-9]+$/ TIME/'
cut -c1-60 t/t.txt
for n in 1 2; do grebe ann run $A/good/sparse_ip.hdf5 --index sparse --export json:appendfile://a.json; done
grep -c '"qps":' a.json
echo "refused"
q grebe ann run $A/good/dense_l2_f32.hdf5
q grebe ann run $A/good/dense_l2_f32.hdf5 --index flat --export csv:stdout
q grebe ann run $A/good/dense_l2_f32.hdf5 --index flat --export json:http://x
q grebe ann run $A/good/dense_l2_f32.hdf5 --index flat --export json
q grebe ann run $A/good/dense_l2_f32.hdf5 --index "flat x=1"
q grebe ann run $A/good/dense_l2_f32.hdf5 --index "hnsw" --sweep "flat:ef=1" --sweep ef
q grebe ann run $A/good/dense_l2_f32.hdf5 --index "hnsw" --sweep "ivf:nprobe=1"
q grebe ann run $A/good/dense_l2_f32.hdf5 --index "hnsw" --index "ivf lists=8" --sweep "ef=1"
q grebe ann run $A/good/dense_l2_f32.hdf5 --index flat --mode range
q grebe ann run $A/good/dense_l2_f32.hdf5 --index flat -k 21
q grebe ann run $A/good/multi_vector_ip.hdf5 --index flat
echo text >t.json; q grebe ann eval $A/good/dense_l2_f32.hdf5 t.json
q grebe ann eval $A/good/dense_l2_f32.hdf5 none.npy
q grebe ann plot r.json -o x.png
q grebe ann plot r.json --x nothing
q grebe ann plot x.hdf5
echo "plots"
grebe ann plot r.json x.json -o p.svg && grebe ann plot r.json x.json | cmp - p.svg && head -c 80 p.svg && echo
grebe ann plot r.json -o p.html --x-scale a3 --all && grep -c "<tr>" p.html
grebe ann plot r.json --bars | grep -c "<rect class=\"f"
