package io.holdfast.fleet;

/**
 * Diary in lines of the process' output, for {@link Worker}: each event is printed when
 * it happens, so that holds of a killed process are known. Thread-safe.
 */
final class SpokenDiary implements Users.Diary {

	private final String name;

	/**
	 * Create a diary.
	 * @param name name of the uses, without spaces
	 */
	SpokenDiary(String name) {
		this.name = name;
	}

	/** Print words as a line. */
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

	private void sayHold(String what, Hold hold) {
		say(what, this.name, hold.permits(), hold.fence(), hold.from(), hold.until());
	}

}
