package io.holdfast.fleet;

import io.holdfast.ReleaseResult;

/**
 * Tells of uses in lines that the process prints, for {@link Worker} to read: each when
 * it happens, so that what a killed process held is known. Thread-safe.
 */
final class SpokenDiary implements Users.Diary {

	private final String name;

	private final boolean falseLosses;

	/**
	 * Create a diary.
	 * @param name of what is used, without spaces
	 */
	SpokenDiary(String name) {
		this(name, false);
	}

	/**
	 * Create a diary.
	 * @param name of what is used, without spaces
	 * @param falseLosses whether releases may report losses that were none
	 */
	SpokenDiary(String name, boolean falseLosses) {
		this.name = name;
		this.falseLosses = falseLosses;
	}

	/** Print words as one line. */
	static void say(Object... words) {
		StringBuilder line = new StringBuilder();
		for (Object word : words) {
			line.append(line.isEmpty() ? "" : " ").append(word);
		}
		System.out.println(line);
	}

	@Override
	public void began(Hold hold) {
		sayHold("began", hold);
	}

	@Override
	public void ended(Hold hold) {
		sayHold("ended", hold);
	}

	@Override
	public void refused() {
		say("refused", this.name);
	}

	@Override
	public void notReleased(Hold hold, ReleaseResult result) {
		if (!this.falseLosses || result != ReleaseResult.LOST) {
			Users.Diary.super.notReleased(hold, result);
		}
	}

	private void sayHold(String what, Hold hold) {
		say(what, this.name, hold.permits(), hold.fence(), hold.asked(), hold.from(), hold.until());
	}

}
