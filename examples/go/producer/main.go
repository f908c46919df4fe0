// Producer writes content events:
//
//	TOPIC=content-events go run ./producer
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

type event struct {
	Content string `json:"content"`
	Type    string `json:"type"`
	// The decision returns it unchanged.
	Metadata map[string]any `json:"metadata"`
}

var comments = []struct{ id, author, text string }{
	{"c-1", "u-7", "You have won! Click here."},
	{"c-2", "u-8", "Good morning to all of you."},
	{"c-3", "u-7", "Send money, and I tell you how to earn more."},
}

func main() {
	topic := cmp.Or(os.Getenv("TOPIC"), "content-events")
	brokers := cmp.Or(os.Getenv("KAFKA_BROKERS"), "127.0.0.1:9092")
	// Idempotent by default: retries write nothing twice. Partitions are the same as in Java.
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	var records []*kgo.Record
	for _, comment := range comments {
		metadata := map[string]any{"comment": comment.id, "author": map[string]any{"id": comment.author}}
		value, err := json.Marshal(event{comment.text, "comment", metadata})
		if err != nil {
			log.Fatal(err)
		}
		// The decision has the same key.
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(comment.author), Value: value})
	}
	if err := client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("sent %d comments to %s\n", len(records), topic)
}
