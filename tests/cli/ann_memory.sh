# Data sets larger than the memory they may take are made by blocks: the same bytes.
q() { "$@"; echo "exit $?"; }
good="$GOLDEN/../data/ann/good"
low="--memory-limit 20KiB"
for f in dense_l2_f32:euclidean dense_angular_f32:angular dense_ip_i8:ip dense_ip_i8_negated:ip; do
    IFS=: read -r name metric <<<"$f"
    echo "$name"
    grebe ann groundtruth $good/$name.hdf5 a.hdf5 -q
    grebe ann groundtruth $good/$name.hdf5 b.hdf5 $low -q
    cmp a.hdf5 b.hdf5
    for ending in npy fvecs i8bin; do
        grebe ann export $good/$name.hdf5 --base a.$ending 2>/dev/null && grebe ann export $good/$name.hdf5 --base b.$ending $low || continue
        cmp a.$ending b.$ending && echo "$ending same"
        grebe ann make c.hdf5 --base b.$ending --split 50 --metric $metric -k 7 -q
        grebe ann make d.hdf5 --base b.$ending --split 50 --metric $metric -k 7 $low -q
        cmp c.hdf5 d.hdf5
    done
    rm -f b.parquet; grebe convert b.npy b.parquet -q
    rm -f b.jsonl; grebe convert b.npy b.jsonl -q
    rm -f b.arrow; grebe convert b.npy b.arrow -q
    for ending in parquet jsonl arrow; do
        grebe ann make d.hdf5 --base b.$ending --split 50 --metric $metric -k 7 $low -q && cmp c.hdf5 d.hdf5 && echo "$ending same"
    done
    grebe ann check a.hdf5 $low
done
# labels
low="--memory-limit 6KiB"
grebe ann export $good/dense_l2_labels.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy
grebe ann make e.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy --metric euclidean -k 20 --filtered -q
grebe ann make f.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy --metric euclidean -k 20 --filtered $low -q
cmp e.hdf5 f.hdf5 && echo labels same
# neighbours that another program found
echo import
grebe ann export $good/dense_l2_f32.hdf5 --base b.npy --queries q.npy --neighbors n.gt --distances d.npy
q grebe ann make g.hdf5 --base b.npy --queries q.npy --neighbors n.gt --metric euclidean
grebe ann make h.hdf5 --base b.npy --queries q.npy --neighbors n.gt --metric euclidean $low -q
grebe ann groundtruth $good/dense_l2_f32.hdf5 a.hdf5 -q
cmp a.hdf5 g.hdf5 && cmp g.hdf5 h.hdf5 && echo import same
grebe ann export $good/dense_ip_f32.hdf5 --neighbors w.ivecs
q grebe ann make h.hdf5 --base b.npy --queries q.npy --neighbors w.ivecs --distances d.npy --metric euclidean -k 3
q grebe ann check h.hdf5 --format csv
q grebe ann make no.hdf5 --base b.npy --queries q.npy --neighbors n.gt --metric euclidean -k 21
q grebe ann make no.hdf5 --base q.npy --queries q.npy --neighbors n.gt --metric euclidean
q grebe ann make no.hdf5 --base b.npy --queries b.npy --neighbors n.gt --metric euclidean
q grebe ann make no.hdf5 --base b.npy --split 24 --neighbors n.gt --metric euclidean
q grebe ann make no.hdf5 --base b.npy --queries q.npy --neighbors d.npy --metric euclidean
q grebe ann make no.hdf5 --base b.npy --queries q.npy --distances d.npy --metric euclidean
ls -a | grep -E '^no\.|tmp' || true
