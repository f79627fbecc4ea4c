package io.holdfast.jdbc;

/**
 * Thrown when a check has found the token of a later holder in the fence table.
 */
class LateFenceException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	/**
	 * Row of the refused lease. Transient, as the exception does not leave its package.
	 */
	final transient FenceRow row;

	/** Token of the later holder. */
	final long laterToken;

	LateFenceException(FenceRow row, long laterToken) {
		super("Fence " + row.token() + " of '" + row.name() + "' is late: the table has " + laterToken);
		this.row = row;
		this.laterToken = laterToken;
	}

}
