import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads decisions and dead letters, in JSON or Avro, until SIGTERM or Ctrl-C: {@code java -cp
 * 'lib/*' Consumer.java}.
 */
public final class Consumer {
  private static final Map<String, String> ENV = System.getenv();
  private static final String DECISIONS =
      ENV.getOrDefault("DECISIONS", "content-events.decisions");
  private static final String DEAD_LETTERS =
      ENV.getOrDefault("DEAD_LETTERS", "content-events.dead-letters");
  /** Only for output.format avro. */
  private static final String REGISTRY =
      ENV.getOrDefault("SCHEMA_REGISTRY", "http://127.0.0.1:8081");

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Map<Integer, Schema> SCHEMAS = new HashMap<>();
  /** Represents a unique column that your database transaction writes with the effects. */
  private static final Set<String> SEEN = new HashSet<>();

  public static void main(String[] args) {
    var properties = new Properties();
    properties.put("bootstrap.servers", ENV.getOrDefault("KAFKA_BROKERS", "127.0.0.1:9092"));
    properties.put("group.id", ENV.getOrDefault("GROUP", "moderation-java"));
    // Java's default delivers records of aborted transactions.
    properties.put("isolation.level", "read_committed");
    properties.put("auto.offset.reset", "earliest");
    properties.put("enable.auto.commit", "false");

    var bytes = new ByteArrayDeserializer();
    var main = Thread.currentThread();
    try (var consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
      Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(consumer, main)));
      consumer.subscribe(List.of(DECISIONS, DEAD_LETTERS));
      System.out.println("reading");
      while (true) {
        for (var message : consumer.poll(Duration.ofSeconds(1))) {
          process(message);
        }
        consumer.commitSync();
      }
    } catch (WakeupException end) {
      // The consumer is closed and has left its group.
    }
  }

  private static void stop(KafkaConsumer<?, ?> consumer, Thread main) {
    consumer.wakeup();
    try {
      main.join();
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    }
  }

  private static void process(ConsumerRecord<byte[], byte[]> message) {
    var eventId = header(message, "event-id");
    if (!SEEN.add(eventId)) {
      System.out.println(eventId + ": seen before");
      return;
    }
    try {
      if (message.topic().equals(DEAD_LETTERS)) {
        var reason = header(message, "dead-letter-reason");
        System.out.println(eventId + ": dead letter, " + reason);
      } else {
        System.out.println(eventId + ": " + outcome(decision(message.value())));
      }
    } catch (IOException | RuntimeException | InterruptedException error) {
      // A record of another application must not stop this one.
      System.out.printf(
          "%s-%d %d: unreadable, %s%n",
          message.topic(), message.partition(), message.offset(), error.getClass().getSimpleName());
    }
  }

  private static String outcome(JsonNode decision) {
    if (decision.required("status").asText().equals("SUCCESS")) {
      return decision.get("result").asText() + ", about " + decision.get("metadata");
    }
    // This event gets no decision. More codes may be added.
    return "no decision, " + decision.get("error").get("code").asText();
  }

  private static JsonNode decision(byte[] value) throws IOException, InterruptedException {
    return value[0] == 0 ? fromAvro(value) : JSON.readTree(value);
  }

  /** Decodes a zero byte, the schema id in four bytes, and the Avro data. */
  private static JsonNode fromAvro(byte[] value) throws IOException, InterruptedException {
    var id = ByteBuffer.wrap(value).getInt(1);
    var schema = SCHEMAS.get(id);
    if (schema == null) {
      var request = HttpRequest.newBuilder(URI.create(REGISTRY + "/schemas/ids/" + id)).build();
      var answer = JSON.readTree(HTTP.send(request, BodyHandlers.ofString()).body());
      schema = new Schema.Parser().parse(answer.required("schema").asText());
      SCHEMAS.put(id, schema);
    }
    var decoder = DecoderFactory.get().binaryDecoder(value, 5, value.length - 5, null);
    var record = new GenericDatumReader<GenericRecord>(schema).read(null, decoder);
    var decision = JSON.createObjectNode();
    decision.put("status", record.get("status").toString());
    decision.put("result", String.valueOf(record.get("result")));
    // In Avro, metadata is JSON text.
    decision.set("metadata", JSON.readTree(record.get("metadata").toString()));
    if (record.get("error") instanceof GenericRecord error) {
      decision.putObject("error").put("code", error.get("code").toString());
    }
    return decision;
  }

  private static String header(ConsumerRecord<byte[], byte[]> message, String name) {
    var header = message.headers().lastHeader(name);
    return header == null ? "" : new String(header.value(), StandardCharsets.UTF_8);
  }
}
