package io.holdfast.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A self-signed certificate for this machine and its key, made anew by the JDK and valid
 * for a day.
 *
 * @param certificate the file of the certificate, in PEM
 * @param key the file of its private key, in PEM
 */
public record TestCertificate(Path certificate, Path key) {

	private static final String ALIAS = "test";

	private static final String PASSWORD = "changeit";

	/**
	 * Make a certificate.
	 * @param directory where its files are to be
	 * @param name what they are called
	 * @param address the host that it is for, an IP address
	 * @return the files
	 */
	public static TestCertificate create(Path directory, String name, String address) {
		Path store = directory.resolve(name + ".p12");
		try {
			Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
					"-genkeypair", "-alias", ALIAS, "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + name,
					"-ext", "san=ip:" + address, "-validity", "1", "-storetype", "PKCS12", "-keystore",
					store.toString(), "-storepass", PASSWORD)
				.redirectErrorStream(true)
				.start();
			String output = new String(keytool.getInputStream().readAllBytes());
			assertThat(keytool.waitFor(1, TimeUnit.MINUTES) && keytool.exitValue() == 0).as(output).isTrue();
			KeyStore keys = KeyStore.getInstance("PKCS12");
			try (InputStream input = Files.newInputStream(store)) {
				keys.load(input, PASSWORD.toCharArray());
			}
			return new TestCertificate(
					pem(directory.resolve(name + ".crt"), "CERTIFICATE", keys.getCertificate(ALIAS).getEncoded()),
					pem(directory.resolve(name + ".key"), "PRIVATE KEY",
							keys.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded()));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (GeneralSecurityException ex) {
			throw new IllegalStateException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError("Interrupted while a certificate was made", ex);
		}
	}

	private static Path pem(Path file, String type, byte[] content) throws IOException {
		String text = Base64.getMimeEncoder(64, new byte[] { '\n' }).encodeToString(content);
		return Files.writeString(file, "-----BEGIN " + type + "-----\n" + text + "\n-----END " + type + "-----\n");
	}

}
