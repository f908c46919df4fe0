/**
 * Strict reader of the requests of an OTLP exporter, as JSON: a field that the published definition
 * (opentelemetry-proto, trace/v1) does not have, or of another type, is an error.
 * Scalars are optional here, so that zeros that were sent are sent again.
 */
import assert from 'node:assert/strict';
import protobuf from 'protobufjs';

const { root } = protobuf.parse(`
syntax = "proto3";
package otlp;
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; optional string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; optional uint32 dropped_attributes_count = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; optional string schema_url = 3; }
message Scope { optional string name = 1; optional string version = 2; repeated KeyValue attributes = 3; optional uint32 dropped_attributes_count = 4; }
message Span {
  optional bytes trace_id = 1; optional bytes span_id = 2; optional string trace_state = 3; optional bytes parent_span_id = 4; optional string name = 5;
  optional int32 kind = 6; optional fixed64 start_time_unix_nano = 7; optional fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; optional uint32 dropped_attributes_count = 10;
  repeated Event events = 11; optional uint32 dropped_events_count = 12;
  repeated Link links = 13; optional uint32 dropped_links_count = 14;
  Status status = 15; optional fixed32 flags = 16;
}
message Event { optional fixed64 time_unix_nano = 1; optional string name = 2; repeated KeyValue attributes = 3; optional uint32 dropped_attributes_count = 4; }
message Link { optional bytes trace_id = 1; optional bytes span_id = 2; optional string trace_state = 3; repeated KeyValue attributes = 4; optional uint32 dropped_attributes_count = 5; optional fixed32 flags = 6; }
message Status { optional string message = 2; optional int32 code = 3; }
message KeyValue { optional string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`);
const REQUEST = root.lookupType('otlp.ExportTraceServiceRequest');

/** The request in OTLP's JSON, where ids are hexadecimal. @throws AssertionError for a field that is not defined */
export function otlpJson(body: Buffer): string {
  const message = REQUEST.decode(body);
  // What the definition does not have is not encoded again.
  assert.equal(REQUEST.encode(message).finish().length, body.length, 'fields that OTLP has not');
  const json = REQUEST.toObject(message, { longs: Number });
  return JSON.stringify(json, (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('hex') : value,
  );
}
