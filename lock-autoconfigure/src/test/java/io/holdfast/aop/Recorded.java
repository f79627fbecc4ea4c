package io.holdfast.aop;

import org.springframework.beans.factory.annotation.Autowired;

/**
 * Bean that records its events among the events of the locks.
 */
abstract class Recorded {

	@Autowired
	RecordingLocks recorder;

	/** Record the run of a method, and return its result. */
	final <T> T ran(T result) {
		this.recorder.record("body");
		return result;
	}

}
