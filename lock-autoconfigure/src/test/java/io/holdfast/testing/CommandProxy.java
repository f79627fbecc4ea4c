package io.holdfast.testing;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * Proxy that replaces commands, so that the server answers like a service with other
 * rights or commands. A character is a byte.
 */
public final class CommandProxy extends TcpProxy {

	private final UnaryOperator<List<String>> rule;

	/**
	 * Start the proxy.
	 * @param host the host of the server
	 * @param port the port of the server
	 * @param rule the replacement of a command, as words
	 */
	public CommandProxy(String host, int port, UnaryOperator<List<String>> rule) {
		super(host, port);
		this.rule = rule;
		up();
	}

	/**
	 * Return a command that the server answers with an error.
	 * @param error the text of the error
	 */
	public static List<String> error(String error) {
		return List.of("EVAL", "return redis.error_reply(ARGV[1])", "0", error);
	}

	/**
	 * Return a rule for scripts. The rule always gets the text of the script.
	 * @param rule the replacement of a command that runs a script, or the same command
	 */
	public static UnaryOperator<List<String>> ofScripts(UnaryOperator<List<String>> rule) {
		return (words) -> switch (words.get(0).toUpperCase(Locale.ROOT)) {
			case "EVALSHA" -> error("NOSCRIPT No matching script");
			case "EVAL" -> rule.apply(words);
			default -> words;
		};
	}

	@Override
	void accept(Socket client) throws IOException {
		Socket redis = connect();
		inBackground(() -> redis.getInputStream().transferTo(client.getOutputStream()));
		inBackground(() -> forward(client.getInputStream(), redis.getOutputStream()));
	}

	private void forward(InputStream from, OutputStream to) throws IOException {
		DataInputStream in = new DataInputStream(from);
		while (true) {
			List<String> words = new ArrayList<>();
			int count = number(in);
			for (int i = 0; i < count; i++) {
				byte[] word = new byte[number(in)];
				in.readFully(word);
				in.skipNBytes(2);
				words.add(new String(word, StandardCharsets.ISO_8859_1));
			}
			to.write(command(this.rule.apply(words)));
			to.flush();
		}
	}

	/** Read a line such as {@code *3} or {@code $7}. */
	private static int number(DataInputStream in) throws IOException {
		StringBuilder line = new StringBuilder();
		in.readByte();
		for (byte next = in.readByte(); next != '\r'; next = in.readByte()) {
			line.append((char) next);
		}
		in.readByte();
		return Integer.parseInt(line.toString());
	}

	private static byte[] command(List<String> words) {
		ByteArrayOutputStream command = new ByteArrayOutputStream();
		command.writeBytes(bytes("*" + words.size() + "\r\n"));
		for (String word : words) {
			command.writeBytes(bytes("$" + word.length() + "\r\n"));
			command.writeBytes(bytes(word));
			command.writeBytes(bytes("\r\n"));
		}
		return command.toByteArray();
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.ISO_8859_1);
	}

}
