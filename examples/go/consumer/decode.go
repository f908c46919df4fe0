package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// decision has the members that this program uses. Metadata keeps all digits of numbers.
type decision struct {
	Status   string          `json:"status"`
	Result   string          `json:"result"`
	Metadata json.RawMessage `json:"metadata"`
	Error    struct {
		Code string `json:"code"`
	} `json:"error"`
	// In Protobuf, metadata is JSON text.
	MetadataJSON string `json:"metadata_json"`
}

// decoder reads JSON and, with output.format: protobuf, Protobuf with the schema in the registry.
type decoder struct {
	registry *sr.Client
	messages map[int]protoreflect.MessageDescriptor
}

func newDecoder() (*decoder, error) {
	registry, err := sr.NewClient(sr.URLs(cmp.Or(os.Getenv("SCHEMA_REGISTRY"), "http://127.0.0.1:8081")))
	return &decoder{registry, map[int]protoreflect.MessageDescriptor{}}, err
}

func (d *decoder) decision(ctx context.Context, value []byte) (decision, error) {
	var decoded decision
	if len(value) == 0 {
		return decoded, errors.New("the record has no value")
	}
	if value[0] == 0 {
		var err error
		if value, err = d.fromProtobuf(ctx, value); err != nil {
			return decoded, err
		}
	}
	if err := json.Unmarshal(value, &decoded); err != nil {
		return decoded, err
	}
	decoded.Status = strings.TrimPrefix(decoded.Status, "STATUS_")
	if decoded.MetadataJSON != "" {
		decoded.Metadata = json.RawMessage(decoded.MetadataJSON)
	}
	if decoded.Status == "" {
		return decoded, errors.New("the value is no decision")
	}
	return decoded, nil
}

// fromProtobuf returns the JSON of a message. The value starts with a zero byte, the schema id in
// four bytes, and a zero byte for the first message of the file.
func (d *decoder) fromProtobuf(ctx context.Context, value []byte) ([]byte, error) {
	var frame sr.ConfluentHeader
	id, rest, err := frame.DecodeID(value)
	if err != nil {
		return nil, err
	}
	if _, rest, err = frame.DecodeIndex(rest, 1); err != nil {
		return nil, err
	}
	descriptor, ok := d.messages[id]
	if !ok {
		schema, err := d.registry.SchemaByID(ctx, id)
		if err != nil {
			return nil, err
		}
		source := protocompile.SourceAccessorFromMap(map[string]string{"decision.proto": schema.Schema})
		compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: source}}
		files, err := compiler.Compile(ctx, "decision.proto")
		if err != nil {
			return nil, err
		}
		descriptor = files[0].Messages().Get(0)
		d.messages[id] = descriptor
	}
	message := dynamicpb.NewMessage(descriptor)
	if err := proto.Unmarshal(rest, message); err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
}
