package io.holdfast.testing;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.time.Duration;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

import org.jspecify.annotations.Nullable;

import org.springframework.asm.ClassReader;
import org.springframework.asm.ClassVisitor;
import org.springframework.asm.ClassWriter;
import org.springframework.asm.Handle;
import org.springframework.asm.MethodVisitor;
import org.springframework.asm.Opcodes;
import org.springframework.asm.Type;

/**
 * Java agent that gives a process a wrong clock: every class outside of the JDK gets the
 * time of day from {@link ShiftedClock}. The agent's jar has only a manifest. The classes
 * come from the class path.
 */
public final class ClockAgent implements ClassFileTransformer {

	private static final String SHIFTED = Type.getInternalName(ShiftedClock.class);

	private static final String DATE = "java/util/Date";

	/** Replaced methods. The replacements in {@link ShiftedClock} have the same names. */
	private static final Set<String> REPLACED = Set.of("java/lang/System.currentTimeMillis()J",
			"java/time/Instant.now()Ljava/time/Instant;", "java/time/Clock.systemUTC()Ljava/time/Clock;",
			"java/time/Clock.systemDefaultZone()Ljava/time/Clock;",
			"java/time/Clock.system(Ljava/time/ZoneId;)Ljava/time/Clock;");

	/**
	 * Names in classes that may have to be changed. A class without these names is loaded
	 * faster.
	 */
	private static final Set<String> HINTS = Set.of("currentTimeMillis", "java/time/Instant", "java/time/Clock", DATE);

	private static final String AGENT = Type.getInternalName(ClockAgent.class);

	private ClockAgent() {
	}

	/**
	 * Called by the JVM, before the main class.
	 * @param shiftMillis the initial difference from the right time, in milliseconds
	 * @param instrumentation the instrumentation of the JVM
	 */
	public static void premain(String shiftMillis, Instrumentation instrumentation) {
		ShiftedClock.shiftBy(Duration.ofMillis(Long.parseLong(shiftMillis)));
		instrumentation.addTransformer(new ClockAgent());
	}

	/**
	 * Return the option by which a child JVM starts with a wrong clock.
	 * @param shift the initial difference from the right time
	 * @return an option of the command line
	 */
	public static String option(Duration shift) {
		return "-javaagent:" + Jar.PATH + "=" + shift.toMillis();
	}

	@Override
	public byte @Nullable [] transform(@Nullable ClassLoader loader, @Nullable String name,
			@Nullable Class<?> redefined, @Nullable ProtectionDomain domain, byte[] code) {
		if (loader != ClassLoader.getSystemClassLoader() || name == null || isPartOfThis(name)) {
			return null;
		}
		String text = new String(code, StandardCharsets.ISO_8859_1);
		try {
			return HINTS.stream().anyMatch(text::contains) ? rewrite(code) : null;
		}
		catch (RuntimeException | Error ex) {
			// The JVM would ignore the error, and use the unchanged class.
			ex.printStackTrace();
			Runtime.getRuntime().halt(1);
			throw ex;
		}
	}

	/** Return whether a class is needed to change classes, or to know the right time. */
	private static boolean isPartOfThis(String name) {
		return name.startsWith("org/springframework/asm/") || name.equals(SHIFTED) || name.equals(AGENT)
				|| name.startsWith(AGENT + "$");
	}

	private static byte[] rewrite(byte[] code) {
		ClassReader reader = new ClassReader(code);
		// The stack is higher at the creation of a date.
		ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
		reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {

			@Override
			public MethodVisitor visitMethod(int access, String name, String descriptor, @Nullable String signature,
					String @Nullable [] exceptions) {
				return new CallRewriter(super.visitMethod(access, name, descriptor, signature, exceptions));
			}

		}, 0);
		return writer.toByteArray();
	}

	private static final class CallRewriter extends MethodVisitor {

		CallRewriter(MethodVisitor target) {
			super(Opcodes.ASM9, target);
		}

		@Override
		public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
			if (opcode == Opcodes.INVOKESTATIC && REPLACED.contains(owner + "." + name + descriptor)) {
				super.visitMethodInsn(opcode, SHIFTED, name, descriptor, false);
			}
			else if (owner.equals(DATE) && name.equals("<init>") && descriptor.equals("()V")) {
				super.visitMethodInsn(Opcodes.INVOKESTATIC, SHIFTED, "currentTimeMillis", "()J", false);
				super.visitMethodInsn(opcode, owner, name, "(J)V", isInterface);
			}
			else {
				super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
			}
		}

		/** Method references, too. */
		@Override
		public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
			Object[] shifted = arguments.clone();
			for (int i = 0; i < shifted.length; i++) {
				if (shifted[i] instanceof Handle called
						&& REPLACED.contains(called.getOwner() + "." + called.getName() + called.getDesc())) {
					shifted[i] = new Handle(called.getTag(), SHIFTED, called.getName(), called.getDesc(), false);
				}
			}
			super.visitInvokeDynamicInsn(name, descriptor, bootstrap, shifted);
		}

	}

	/** Jar of the agent, written at its first use, and deleted when this JVM ends. */
	private static final class Jar {

		static final Path PATH = write();

		private static Path write() {
			Manifest manifest = new Manifest();
			manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
			manifest.getMainAttributes().putValue("Premain-Class", ClockAgent.class.getName());
			try {
				Path jar = Files.createTempFile("clock-agent", ".jar");
				jar.toFile().deleteOnExit();
				try (OutputStream output = Files.newOutputStream(jar)) {
					new JarOutputStream(output, manifest).close();
				}
				return jar;
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

	}

}
