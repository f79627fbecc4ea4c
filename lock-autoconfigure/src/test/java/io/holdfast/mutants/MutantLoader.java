package io.holdfast.mutants;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

import org.jspecify.annotations.Nullable;

/**
 * Loads Holdfast and its tests anew, with files of a directory in place of the scripts of
 * the same name. What starts Redis for tests is shared with all other loaders.
 */
final class MutantLoader extends URLClassLoader {

	private static final String OWN = "io.holdfast.";

	private static final String SHARED = "io.holdfast.testing.";

	private final Path scripts;

	/**
	 * Create the loader.
	 * @param classes where classes and resources are
	 * @param scripts what is loaded first, by the paths of resources
	 */
	MutantLoader(URL[] classes, Path scripts) {
		super(classes, MutantLoader.class.getClassLoader());
		this.scripts = scripts;
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		if (!name.startsWith(OWN) || name.startsWith(SHARED)) {
			return super.loadClass(name, resolve);
		}
		synchronized (getClassLoadingLock(name)) {
			Class<?> loaded = findLoadedClass(name);
			return (loaded != null) ? loaded : findClass(name);
		}
	}

	@Override
	public @Nullable URL getResource(String name) {
		Path changed = this.scripts.resolve(name);
		try {
			return changed.toFile().isFile() ? changed.toUri().toURL() : super.getResource(name);
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
