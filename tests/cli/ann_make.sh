# Benchmark data sets out of array files and back: the same bits, the same truth.
q() { "$@"; echo "exit $?"; }
cp -r "$GOLDEN/../data/ann/good" .
same() { # FILE OTHER DATASET…
    a=$1 b=$2
    shift 2
    for s; do
        grebe convert $a#$s x.npy -q && grebe convert $b#$s y.npy -q && cmp x.npy y.npy && echo "$s same"
    done
}
for f in dense_l2_f32:euclidean:npy dense_angular_f32:angular:fbin dense_ip_f32:ip:fvecs dense_ip_i8:ip:i8bin sparse_ip:ip:csr; do
    IFS=: read -r name metric ending <<<"$f"
    echo "$name $ending"
    grebe ann export good/$name.hdf5 --base b.$ending --queries q.$ending --neighbors n.ivecs --distances d.npy
    grebe ann make $name.hdf5 --base b.$ending --queries q.$ending --metric $metric -k 20 -q
    same good/$name.hdf5 $name.hdf5 train test neighbors distances
    grebe ann check $name.hdf5 --vsag
    grebe ann groundtruth n2.ivecs --base b.$ending --queries q.$ending --metric $metric -k 20 -q
    cmp n.ivecs n2.ivecs
done
for name in multi_vector_ip multi_vector_euclidean; do
    echo $name
    grebe ann export good/$name.hdf5 --base b.multi --queries q.multi
    grebe ann make $name.hdf5 --base b.multi --queries q.multi --metric ${name##*_} -k 10 -q
    same good/$name.hdf5 $name.hdf5 train_multi_vectors train_vector_counts test_multi_vectors neighbors distances
done
# labels: filtered truth, and what is short
grebe ann export good/dense_l2_labels.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy
q grebe ann make f.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy --metric euclidean -k 20 --filtered
same good/dense_l2_labels.hdf5 f.hdf5 train test neighbors distances train_labels test_labels valid_ratios
q grebe ann make f.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy --metric euclidean -k 60 --filtered
q grebe ann make p.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy --metric euclidean -k 60 --filtered --short-rows pad
q grebe ann check p.hdf5 --format csv
q grebe ann check p.hdf5 --allow-padding --format csv
q grebe ann make p.hdf5 --base b.npy --queries q.npy --labels l.npy --query-labels ql.npy --metric euclidean -k 60 --filtered --short-rows fail
# the same bytes each time, whoever is drawn
q grebe ann make words-50-angular.hdf5 --base "$DATA/glove_20k.parquet" --split 20 -k 5
grebe ann make again-50-angular.hdf5 --base "$DATA/glove_20k.parquet" --split 20 -k 5 -q --threads 2
cmp words-50-angular.hdf5 again-50-angular.hdf5 && echo same
grebe ann check words-50-angular.hdf5
grebe ann groundtruth words-50-angular.hdf5 ten.hdf5 -k 10
grebe info ten.hdf5
q grebe ann make v.hdf5 --base good/dense_ip_i8.hdf5#train --queries good/dense_ip_i8.hdf5#test --metric ip -k 20 --vsag-int8-ip
same good/dense_ip_i8_negated.hdf5 v.hdf5 neighbors distances
# what is wrong is said, and leaves nothing
q grebe ann make no.hdf5 --base b.npy --queries q.npy
q grebe ann make no.hdf5 --base b.npy --queries q.npy --metric hamming
q grebe ann make no.hdf5 --base b.npy --queries q.npy --metric ip -k 601
q grebe ann make no.hdf5 --base b.npy --metric ip
q grebe ann make no.hdf5 --base b.npy --split 600 --metric ip
q grebe ann make no.hdf5 --base b.npy --queries good/small_l2.hdf5#test --metric ip
q grebe ann make no.hdf5 --base b.npy --queries q.npy --metric ip --labels ql.npy --query-labels ql.npy
q grebe ann make no.npy --base b.npy --queries q.npy --metric ip
q grebe ann export good/dense_ip_i8.hdf5 --base no.bvecs
q grebe ann export good/sparse_ip.hdf5 --base no.npy
q grebe ann export good/dense_ip_i8.hdf5 --labels no.npy
q grebe ann groundtruth nowhere.hdf5 no.hdf5
ls -a | grep -E '^no\.|tmp'
# numbers that have no truth, and no rows at all
bytes() { printf "$(printf '%s' "$*" | sed 's/ //g; s/../\\x&/g')"; }
bytes 02000000 0000803f 00000040 02000000 00004040 0000c07f >nan.fvecs
bytes 02000000 0000803f 00000040 02000000 000080ff 0000003f >inf.fvecs
bytes 02000000 0000803f 00000040 >one.fvecs
bytes 0100000000000000 0500000000000000 0200000000000000 0000000000000000 0200000000000000 01000000 03000000 0000803f 0000807f >inf.csr
bytes 0000000000000000 0500000000000000 0000000000000000 0000000000000000 >none.csr
for metric in euclidean ip angular; do
    q grebe ann make no.hdf5 --base nan.fvecs --queries one.fvecs --metric $metric -k 1
    q grebe ann make no.hdf5 --base one.fvecs --queries inf.fvecs --metric $metric -k 1
done
q grebe ann make no.hdf5 --base inf.csr --queries inf.csr -k 1
q grebe ann make no.hdf5 --base none.csr --queries inf.csr -k 1
q grebe ann groundtruth no.ivecs --base nan.fvecs --queries one.fvecs --metric ip -k 1
ls -a | grep -E '^no\.|tmp'
