package io.holdfast.autoconfigure;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * That nobody runs without locks and does not know it.
 */
@ExtendWith(OutputCaptureExtension.class)
class SwitchTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(HoldfastSwitchAutoConfiguration.class, HoldfastAutoConfiguration.class,
				HoldfastAopAutoConfiguration.class))
		.withPropertyValues("holdfast.backend=memory");

	@Test
	@DisplayName("Switched off, Holdfast warns of it once, also if beans are created late")
	void off(CapturedOutput output) {
		this.runner.withPropertyValues("holdfast.enabled=false", "spring.main.lazy-initialization=true")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(output.toString()).containsOnlyOnce("Holdfast is switched off (holdfast.enabled=false)");
	}

	@Test
	@DisplayName("Switched on, it says nothing of that; nor is it of interest how the word is written")
	void on(CapturedOutput output) {
		this.runner.run((context) -> assertThat(context).hasNotFailed());
		this.runner.withPropertyValues("holdfast.enabled=TRUE", "holdfast.aop.enabled=False")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(output).doesNotContain("switched off");
	}

}
