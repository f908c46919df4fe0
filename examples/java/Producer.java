import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes content events: {@code TOPIC=content-events java -cp 'lib/*' Producer.java}. */
public final class Producer {
  private record Comment(String id, String author, String text) {}

  private static final List<Comment> COMMENTS =
      List.of(
          new Comment("c-1", "u-7", "You have won! Click here."),
          new Comment("c-2", "u-8", "Good morning to all of you."),
          new Comment("c-3", "u-7", "Send money, and I tell you how to earn more."));

  public static void main(String[] args) throws Exception {
    var env = System.getenv();
    var topic = env.getOrDefault("TOPIC", "content-events");
    var properties = new Properties();
    properties.put("bootstrap.servers", env.getOrDefault("KAFKA_BROKERS", "127.0.0.1:9092"));
    // The default, but explicit: retries must not write duplicates, which would be reviewed too.
    properties.put("enable.idempotence", "true");

    var json = new ObjectMapper();
    var serializer = new StringSerializer();
    try (var producer = new KafkaProducer<>(properties, serializer, serializer)) {
      for (var comment : COMMENTS) {
        // The decision returns metadata unchanged, and has the same key.
        var event =
            Map.of(
                "content", comment.text(),
                "type", "comment",
                "metadata",
                    Map.of("comment", comment.id(), "author", Map.of("id", comment.author())));
        // Waits for the acknowledgement. With many events, collect the futures first.
        producer
            .send(new ProducerRecord<>(topic, comment.author(), json.writeValueAsString(event)))
            .get();
      }
    }
    System.out.printf("sent %d comments to %s%n", COMMENTS.size(), topic);
  }
}
