# Data sets of HDF5 files and array files are sources of rows; what is read is what was stored.
q() { "$@"; echo "exit $?"; }
cp -r "$GOLDEN/../data/ann/good" "$GOLDEN/../data/ann/storage" "$GOLDEN/../data/ann/bad" .
grebe head good/small_l2.hdf5#neighbors --limit 2
grebe schema storage/annb_hamming_bit.hdf5#test
grebe scan bad/train_uint8.hdf5#train --rows 0:1 --format json
q grebe head good/small_l2.hdf5
q grebe head good/small_l2.hdf5#nothing
q grebe head bad/train_compound.hdf5#train
q grebe head bad/claims_a_lot.hdf5#train
q grebe head bad/truncated_half.hdf5#train
grebe count 'good/small_*.hdf5#train'
grebe take hdf5:good/small_l2.hdf5#neighbors --rows 5,0,5 --format jsonl
grebe check good/small_l2.hdf5#train --deep
# one after the other through every kind that can hold float32 vectors, and back
grebe convert good/dense_l2_f32.hdf5#train a.fvecs -q
grebe convert a.fvecs a.fbin -q
grebe convert a.fbin a.npy -q
grebe create t --from a.npy -q
grebe convert t b.fvecs -q
grebe convert storage/chunked_gzip_shuffle.hdf5#train c.fvecs -q
cmp a.fvecs b.fvecs && cmp a.fvecs c.fvecs && echo same
grebe convert good/dense_ip_i8.hdf5#train a.i8bin -q
grebe convert a.i8bin b.npy -q
grebe convert good/dense_ip_i8.hdf5#train c.npy -q
cmp b.npy c.npy && echo same
grebe convert good/dense_l2_labels.hdf5#train_labels labels.npy -q
grebe head labels.npy --limit 2 --format csv
grebe head a.npy --where 'vector[0] = -2' --limit 1 --columns vector --format json | cut -c 1-40
# a name that says something else than the bytes
cp a.fvecs wrong.fbin
cp a.fbin wrong.fvecs
q grebe head wrong.fbin
q grebe head wrong.fvecs
q grebe convert good/small_l2.hdf5#neighbors wrong.fvecs
q grebe convert good/small_l2.hdf5#neighbors wrong.csr
ls | grep tmp
# benchmark files
grebe info good/small_l2.hdf5
grebe info good/sparse_tokens.hdf5 --format json
grebe info storage/annb_jaccard.hdf5
q grebe info bad/claims_a_lot.hdf5 --format json
q grebe info bad/truncated_half.hdf5
q grebe ann check good/small_l2.hdf5
q grebe ann check good/sparse_unsorted_ids.hdf5 --format csv
q grebe ann check bad/neighbor_minus_one.hdf5 --format csv
q grebe ann check bad/neighbor_minus_one.hdf5 --allow-padding --format csv
q grebe ann check bad/train_uint8.hdf5 --vsag --format csv
q grebe ann check good/dense_ip_f32.hdf5 --annb --format jsonl
q grebe ann check nowhere.hdf5
q grebe ann check
q grebe ann chek
grebe ann | head -3
