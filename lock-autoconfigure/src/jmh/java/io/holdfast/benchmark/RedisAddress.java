package io.holdfast.benchmark;

/**
 * Where the Redis of all contenders is.
 */
record RedisAddress(String host, int port) {

	static RedisAddress parse(String text) {
		int colon = text.lastIndexOf(':');
		return new RedisAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
	}

	@Override
	public String toString() {
		return this.host + ":" + this.port;
	}

}
