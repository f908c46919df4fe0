// Consumer reads decisions and dead letters, in JSON or Protobuf, until SIGTERM or Ctrl-C:
//
//	go run ./consumer
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	decisions   = cmp.Or(os.Getenv("DECISIONS"), "content-events.decisions")
	deadLetters = cmp.Or(os.Getenv("DEAD_LETTERS"), "content-events.dead-letters")
)

// seen represents a unique column that your database transaction writes with the effects.
var seen = map[string]bool{}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	brokers := cmp.Or(os.Getenv("KAFKA_BROKERS"), "127.0.0.1:9092")
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(brokers, ",")...),
		kgo.ConsumerGroup(cmp.Or(os.Getenv("GROUP"), "moderation-go")),
		kgo.ConsumeTopics(decisions, deadLetters),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// franz-go's default delivers records of aborted transactions.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	decoder, err := newDecoder()
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println("reading")
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			log.Printf("%s-%d: %v", topic, partition, err)
		})
		fetches.EachRecord(func(record *kgo.Record) { process(ctx, decoder, record) })
		// An interrupted commit is not an error: the records are read again and skipped by event id.
		if err := client.CommitUncommittedOffsets(ctx); err != nil && ctx.Err() == nil {
			log.Printf("offsets were not committed: %v", err)
		}
	}
}

func process(ctx context.Context, decoder *decoder, record *kgo.Record) {
	eventID := header(record, "event-id")
	if seen[eventID] {
		fmt.Printf("%s: seen before\n", eventID)
		return
	}
	seen[eventID] = true
	if record.Topic == deadLetters {
		fmt.Printf("%s: dead letter, %s\n", eventID, header(record, "dead-letter-reason"))
		return
	}
	decision, err := decoder.decision(ctx, record.Value)
	switch {
	case err != nil:
		// A record of another application must not stop this one.
		fmt.Printf("%s-%d %d: unreadable\n", record.Topic, record.Partition, record.Offset)
	case decision.Status == "SUCCESS":
		fmt.Printf("%s: %s, about %s\n", eventID, decision.Result, decision.Metadata)
	default:
		// This event gets no decision. More codes may be added.
		fmt.Printf("%s: no decision, %s\n", eventID, decision.Error.Code)
	}
}

func header(record *kgo.Record, name string) string {
	value := ""
	for _, header := range record.Headers {
		if header.Key == name {
			value = string(header.Value)
		}
	}
	return value
}
