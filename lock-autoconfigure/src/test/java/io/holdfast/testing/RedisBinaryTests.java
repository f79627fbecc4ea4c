package io.holdfast.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

class RedisBinaryTests {

	@TempDir
	private Path directory;

	private Path script(String text, String permissions) throws IOException {
		Path script = Files.writeString(this.directory.resolve("server"), "#!/bin/sh\n" + text + "\n");
		return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString(permissions));
	}

	private static void assertRefused(Object value, String why) {
		assertThatIllegalStateException().isThrownBy(() -> RedisBinary.named(value.toString()))
			.withMessage("-Dholdfast.test.redis-binary=" + value + " " + why
					+ ": give the absolute path of a program that starts as redis-server does, or leave the property out");
	}

	@Test
	@DisplayName("The program in use, and whatever tells its version as Redis does, are taken")
	void taken() throws IOException {
		assertThat(RedisBinary.named(RedisBinary.get().toString())).isEqualTo(RedisBinary.get());
		Path wrapper = script("echo 'Valkey server v=9.1.2 sha=00000000:0 bits=64'", "rwx------");
		assertThat(RedisBinary.named(wrapper.toString())).isEqualTo(wrapper);
	}

	@Test
	@DisplayName("A path that is none, is relative, leads nowhere or to a directory is told with the property and the cure")
	void wrongPath() {
		assertRefused("re\0dis", "is not a path");
		assertRefused("target/redis-server", "is not an absolute path");
		assertRefused(this.directory.resolve("missing"), "does not exist");
		assertRefused(this.directory, "is not a file");
	}

	@Test
	@DisplayName("So is a file that may not be executed, or is not a Redis")
	void wrongProgram() throws IOException {
		assertRefused(script("echo 'Redis server v=7'", "rw-------"), "may not be executed");
		assertRefused(script("echo hello; exit 1", "rwx------"), "is not a Redis: it answers --version by 'hello'");
	}

}
