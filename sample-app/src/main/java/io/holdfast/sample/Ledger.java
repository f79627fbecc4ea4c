package io.holdfast.sample;

import io.holdfast.LockLease;
import io.holdfast.annotation.DistributedLock;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * Ledger in the database, for one writer at a time. Each entry is the fencing token of
 * its writer.
 */
@Component
class Ledger {

	/** Lock of the writers. */
	static final String LOCK = "ledger";

	private final JdbcClient database;

	Ledger(JdbcClient database) {
		this.database = database;
	}

	/** Write an entry with the lock of all instances. */
	@DistributedLock(name = LOCK, waitTime = "30s", fenced = true)
	@Transactional
	public void writeInTurn() {
		write();
	}

	/**
	 * Write an entry under the lock that the caller holds.
	 */
	@Transactional
	public void write() {
		this.database.sql("INSERT INTO ledger (fence) VALUES (?)").param(LockLease.current().fencingToken()).update();
	}

	/**
	 * Return the highest fencing token of all entries.
	 * @return the token, 0 without entries
	 */
	public long lastFence() {
		return this.database.sql("SELECT COALESCE(MAX(fence), 0) FROM ledger").query(Long.class).single();
	}

}
