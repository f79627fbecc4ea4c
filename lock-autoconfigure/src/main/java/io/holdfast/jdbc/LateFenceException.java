package io.holdfast.jdbc;

/**
 * A check found the token of a later holder in the fence table.
 */
class LateFenceException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	private final String name;

	private final long token;

	private final long laterToken;

	LateFenceException(FenceRow row, long laterToken) {
		super("Fence " + row.token() + " of '" + row.name() + "' is late: the table has " + laterToken);
		this.name = row.name();
		this.token = row.token();
		this.laterToken = laterToken;
	}

	/** Name of the row, as in {@link FenceRow#name()}. */
	String name() {
		return this.name;
	}

	/** Token of the lease that was refused. */
	long token() {
		return this.token;
	}

	/** Token of the later holder. */
	long laterToken() {
		return this.laterToken;
	}

}
