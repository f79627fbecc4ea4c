package io.holdfast.sample;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.scheduling.annotation.EnableScheduling;

/** Instance of the shop. */
@SpringBootApplication(proxyBeanMethods = false)
@ConfigurationPropertiesScan
@EnableScheduling
public class SampleApplication {

	/**
	 * Start an instance.
	 * @param args the properties, such as {@code --server.port=0}
	 */
	public static void main(String[] args) {
		application().run(args);
	}

	static SpringApplication application() {
		SpringApplication application = new SpringApplication(SampleApplication.class);
		application.addInitializers(new EmbeddedRedis(), new EmbeddedDatabase());
		return application;
	}

}
