package io.holdfast.redis.notify;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.lettuce.core.cluster.SlotHash;

/**
 * A proxy before the node of a cluster that refuses scripts whose channel is in another
 * slot than their keys, as services do that divide channels among their nodes. It looks
 * at channels that are an argument.
 */
final class ShardedChannels implements AutoCloseable {

	private static final String REFUSAL = "return redis.error_reply("
			+ "'ERR Script attempted to access keys that do not hash to the same slot')";

	private final ServerSocket server;

	private final String host;

	private final int port;

	private final String channelPrefix;

	private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();

	ShardedChannels(String host, int port, String channelPrefix) {
		this.host = host;
		this.port = port;
		this.channelPrefix = channelPrefix;
		try {
			this.server = new ServerSocket(0, 50, InetAddress.getByName(host));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		inBackground(this::accept);
	}

	int port() {
		return this.server.getLocalPort();
	}

	private void accept() throws IOException {
		while (true) {
			Socket client = this.server.accept();
			Socket redis = new Socket(this.host, this.port);
			this.sockets.add(client);
			this.sockets.add(redis);
			inBackground(() -> redis.getInputStream().transferTo(client.getOutputStream()));
			inBackground(() -> forward(client.getInputStream(), redis.getOutputStream()));
		}
	}

	private void forward(InputStream from, OutputStream to) throws IOException {
		DataInputStream in = new DataInputStream(from);
		while (true) {
			List<byte[]> words = new ArrayList<>();
			int count = number(in);
			for (int i = 0; i < count; i++) {
				byte[] word = new byte[number(in)];
				in.readFully(word);
				in.skipNBytes(2);
				words.add(word);
			}
			to.write(command(isRefused(words) ? List.of(bytes("EVAL"), bytes(REFUSAL), bytes("0")) : words));
			to.flush();
		}
	}

	private boolean isRefused(List<byte[]> words) {
		if (!text(words.get(0)).toUpperCase().startsWith("EVAL") || text(words.get(2)).equals("0")) {
			return false;
		}
		int slot = SlotHash.getSlot(words.get(3));
		return words.stream()
			.skip(3)
			.anyMatch((word) -> text(word).startsWith(this.channelPrefix) && SlotHash.getSlot(word) != slot);
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

	private static byte[] command(List<byte[]> words) {
		ByteArrayOutputStream command = new ByteArrayOutputStream();
		command.writeBytes(bytes("*" + words.size() + "\r\n"));
		for (byte[] word : words) {
			command.writeBytes(bytes("$" + word.length + "\r\n"));
			command.writeBytes(word);
			command.writeBytes(bytes("\r\n"));
		}
		return command.toByteArray();
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	private static String text(byte[] word) {
		return new String(word, StandardCharsets.UTF_8);
	}

	private static void inBackground(Piping piping) {
		Thread thread = new Thread(() -> {
			try {
				piping.run();
			}
			catch (IOException ex) {
				// One of the two has closed its connection.
			}
		}, "sharded-channels");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public void close() throws IOException {
		this.server.close();
		for (Socket socket : this.sockets) {
			socket.close();
		}
	}

	private interface Piping {

		void run() throws IOException;

	}

}
