import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;

/**
 * Several GETs and POSTs with the JDK's HttpClient.
 *
 * <pre>java JavaClient.java default|http1 base|forward URL PROXY</pre>
 *
 * `default` offers an upgrade to h2c with each request. Prints `ok` when every answer was right.
 */
public class JavaClient {
    public static void main(String[] arguments) throws Exception {
        String version = arguments[0], mode = arguments[1], url = arguments[2];
        URI proxy = URI.create(arguments[3]);
        HttpClient.Builder builder = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10));
        if (version.equals("http1")) {
            builder.version(HttpClient.Version.HTTP_1_1);
        }
        builder.proxy(mode.equals("forward")
            ? ProxySelector.of(new InetSocketAddress(proxy.getHost(), proxy.getPort()))
            : HttpClient.Builder.NO_PROXY);
        HttpClient client = builder.build();

        for (int number = 0; number < 4; number++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url + "?n=" + number))
                .timeout(Duration.ofSeconds(20)).build();
            expect(client.send(request, HttpResponse.BodyHandlers.ofString()),
                "n=" + number + "\"");
        }

        byte[] body = new byte[40 * 1024];
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) (i * 31 % 251);
        }
        String digest = HexFormat.of().formatHex(
            MessageDigest.getInstance("SHA-256").digest(body));
        for (boolean expectContinue : new boolean[] {false, true}) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url))
                .timeout(Duration.ofSeconds(20)).expectContinue(expectContinue)
                .POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
            expect(client.send(request, HttpResponse.BodyHandlers.ofString()), digest);
        }
        System.out.println("ok");
        System.exit(0);
    }

    private static void expect(HttpResponse<String> response, String part) {
        if (response.statusCode() != 200 || !response.body().contains(part)) {
            throw new IllegalStateException(response.statusCode() + " " + response.body());
        }
    }
}
