package io.holdfast.testing;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Rights of a narrow user in {@code docs/redis.md}, so that the documented rights are
 * tested.
 *
 * @param rights the words of {@code ACL SETUSER}
 */
public record DocumentedRights(List<String> rights) {

	private static final Path PAGE = Path.of("..", "docs", "redis.md");

	/**
	 * Return the rights that locks and semaphores need.
	 * @return the rights, each of which is necessary
	 */
	public static DocumentedRights ofLeases() {
		return of("locks and semaphores");
	}

	/** Return the additional rights for the views of the fleet. */
	public static DocumentedRights ofWatching() {
		return of("the fleet, for endpoints");
	}

	/** Return the rights that locks and semaphores need in a cluster. */
	public static DocumentedRights inCluster() {
		return ofLeases().and(of("a cluster"));
	}

	/**
	 * Return the rights that locks and semaphores can use in a cluster.
	 * @return the rights, some of which are unknown to Redis 6.2
	 */
	public static DocumentedRights inShardingCluster() {
		return inCluster().and(of("a cluster of Redis 7 or newer"));
	}

	/** Return all rights, from the line to copy. */
	public static DocumentedRights inOneLine() {
		return new DocumentedRights(lineToCopy().stream().filter((word) -> word.matches("[~&+].*")).toList());
	}

	/**
	 * Return the command that grants all rights.
	 * @return the words of the command; the third word is the user's name
	 */
	public static List<String> lineToCopy() {
		return ProjectFiles.text(PAGE)
			.lines()
			.filter((text) -> text.startsWith("ACL SETUSER "))
			.findFirst()
			.map((line) -> List.of(line.split(" ")))
			.orElseThrow();
	}

	/** Return the rights in the line of the page for a purpose. */
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

	/** Return the rights to commands. */
	public List<String> commands() {
		return this.rights.stream()
			.filter((right) -> right.startsWith("+"))
			.map((right) -> right.substring(1))
			.toList();
	}

	/**
	 * Return the rules for a user with only these rights.
	 * @param password the user's password
	 * @return the words of {@code ACL SETUSER}
	 */
	public List<String> rules(String password) {
		return Stream.concat(Stream.of("reset", "on", ">" + password), this.rights.stream()).toList();
	}

	/**
	 * Return all rights except one.
	 * @param right the excluded right
	 * @return the other rights
	 */
	public DocumentedRights without(String right) {
		return new DocumentedRights(this.rights.stream().filter((other) -> !other.equals(right)).toList());
	}

}
