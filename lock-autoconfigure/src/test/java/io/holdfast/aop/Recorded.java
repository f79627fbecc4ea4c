package io.holdfast.aop;

import org.springframework.beans.factory.annotation.Autowired;

/**
 * A bean that writes down what it does among what the locks record.
 */
abstract class Recorded {

	@Autowired
	RecordingLocks recorder;

}
