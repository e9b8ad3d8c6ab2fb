# Configurations of VSAG's eval_performance.
grebe version --build | grep -qw yaml || exit 77
q() { "$@"; echo "exit $?"; }
cp $GOLDEN/../data/ann/good/dense_ip_f32.hdf5 d.hdf5
cat >c.yaml <<'Y'
global:
  exporters:
    a: {format: json, to: "file://out/r.json"}
    b: {format: line_protocol, to: stdout}
  num_threads_building: 2
z first:
  datapath: d.hdf5
  type: build,search
  index_name: hgraph
  index_path: ix/z
  create_params: '{"dim":32,"dtype":"float32","metric_type":"ip","index_param":{"base_quantization_type":"sq8","max_degree":16}}'
  search_params: '{"hgraph":{"ef_search":100}}'
  search_query_count: 48
a second:
  datapath: d.hdf5
  type: search
  index_name: hgraph
  index_path: ix/z
  create_params: '{"metric_type":"ip"}'
  search_params: '{"hgraph":{"ef_search":10}}'
  delete_index_after_search: true
flat:
  datapath: d.hdf5
  type: build
  index_name: brute_force
  create_params: '{"metric_type":"ip"}'
Y
grebe ann run c.yaml | sed -E 's/=[0-9.e-]+/=N/g; s/ [0-9]+$/ TIME/'
grep -E "^  \"|\"(index|action|search_param|measurement_sample_count|base_quantization_type|num_threads_building)\"" out/r.json
ls ix
sed 's/hgraph/diskann/' c.yaml >bad.yaml
q grebe ann run bad.yaml
sed 's/"max_degree"/"degrees"/' c.yaml >bad.yaml
q grebe ann run bad.yaml
sed 's#to: stdout#to: 'influxdb://h'#' c.yaml >bad.yaml
q grebe ann run bad.yaml
printf 'a: [1\n' >bad.yaml
q grebe ann run bad.yaml
q grebe ann run c.yaml --index flat
