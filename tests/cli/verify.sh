# SPDX-License-Identifier: Apache-2.0
# Checksums of pages are compared unless --verify off; filters of a file leave chunks out.
bad=$GOLDEN/parquet/testing/datapage_v1-corrupt-checksum.parquet
dictionary=$GOLDEN/parquet/testing/rle-dict-uncompressed-corrupt-checksum.parquet
bloom=$GOLDEN/parquet/testing/data_index_bloom_encoding_stats.parquet
cp "$bad" bad.parquet
cp "$dictionary" dictionary.parquet
cp "$bloom" bloom.parquet
grebe scan bad.parquet --columns a --format csv --limit 1
echo "rc $?"
grebe scan bad.parquet --columns a --format csv --verify off | wc -l
grebe scan bad.parquet --columns b --rows 0:10 --format csv | wc -l
grebe scan dictionary.parquet --format csv
echo "rc $?"
grebe scan dictionary.parquet --format csv --verify off | wc -l
grebe scan bad.parquet --verify perhaps 2>&1 | head -1
grebe explain bloom.parquet --where "String = 'Hello_Not_Exists'"
grebe count bloom.parquet --where "String = 'Hello_Not_Exists'"
grebe count bloom.parquet --where "String = 'dog'"
grebe inspect bloom.parquet --format json | grep -o '"bloom_filter_[a-z]*": *[0-9a-z]*'
