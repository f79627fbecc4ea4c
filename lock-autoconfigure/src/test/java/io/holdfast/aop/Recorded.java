package io.holdfast.aop;

import org.springframework.beans.factory.annotation.Autowired;

/**
 * Bean that records its events among the events of the locks.
 */
abstract class Recorded {

	@Autowired
	RecordingLocks recorder;

}
