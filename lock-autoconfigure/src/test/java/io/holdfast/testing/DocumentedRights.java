package io.holdfast.testing;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The rights of a narrow user as {@code docs/redis.md} names them, so that what is
 * documented is what is tested.
 *
 * @param rights the words of {@code ACL SETUSER}
 */
public record DocumentedRights(List<String> rights) {

	private static final Path PAGE = Path.of("..", "docs", "redis.md");

	/**
	 * What locks and semaphores need.
	 * @return the rights, of which none can be left out
	 */
	public static DocumentedRights ofLeases() {
		return of("locks and semaphores");
	}

	/** What those need besides who watch the fleet. */
	public static DocumentedRights ofWatching() {
		return of("the fleet, for endpoints");
	}

	/** What locks and semaphores need in a cluster. */
	public static DocumentedRights inCluster() {
		return ofLeases().and(of("a cluster"));
	}

	/**
	 * What locks and semaphores can use in a cluster.
	 * @return the rights, of which Redis 6.2 does not know some
	 */
	public static DocumentedRights inShardingCluster() {
		return inCluster().and(of("a cluster of Redis 7 or newer"));
	}

	/** All of it, as a line to copy. */
	public static DocumentedRights inOneLine() {
		return new DocumentedRights(lineToCopy().stream().filter((word) -> word.matches("[~&+].*")).toList());
	}

	/**
	 * The command that gives them all.
	 * @return its words, the user's name the third of them
	 */
	public static List<String> lineToCopy() {
		return ProjectFiles.text(PAGE)
			.lines()
			.filter((text) -> text.startsWith("ACL SETUSER "))
			.findFirst()
			.map((line) -> List.of(line.split(" ")))
			.orElseThrow();
	}

	/** The rights on the line of the page for this purpose. */
	private static DocumentedRights of(String purpose) {
		String line = ProjectFiles.text(PAGE)
			.lines()
			.filter((text) -> text.startsWith(purpose + ": "))
			.findFirst()
			.orElseThrow(() -> new IllegalStateException("No line for '" + purpose + "' in " + PAGE));
		return new DocumentedRights(Stream.of(line.split(" ")).filter((word) -> word.matches("[~&+].*")).toList());
	}

	private DocumentedRights and(DocumentedRights others) {
		return new DocumentedRights(Stream.concat(this.rights.stream(), others.rights.stream()).toList());
	}

	/** Of the rights those to commands. */
	public List<String> commands() {
		return this.rights.stream()
			.filter((right) -> right.startsWith("+"))
			.map((right) -> right.substring(1))
			.toList();
	}

	/**
	 * Rules for a user that has these rights and no others.
	 * @param password its password
	 * @return the words of {@code ACL SETUSER}
	 */
	public List<String> rules(String password) {
		return Stream.concat(Stream.of("reset", "on", ">" + password), this.rights.stream()).toList();
	}

	/**
	 * All rights but one.
	 * @param right which not
	 * @return the others
	 */
	public DocumentedRights without(String right) {
		return new DocumentedRights(this.rights.stream().filter((other) -> !other.equals(right)).toList());
	}

}
