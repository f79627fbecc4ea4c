package io.holdfast.sample;

import java.time.Duration;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.http.HttpMethod;
import org.springframework.test.web.servlet.client.RestTestClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Answers of the shop's HTTP interface.
 */
class ShopControllerTests {

	private static Instances instances;

	private static Instance shop;

	@BeforeAll
	static void start() {
		instances = new Instances();
		shop = instances.start();
	}

	@AfterAll
	static void stop() {
		instances.close();
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			POST | /sales?sku=SKU1&stock=0&buyers=1      | stock is 0, which is not from 1 to 100000
			POST | /sales?sku=SKU1&stock=100001&buyers=1 | stock is 100001, which is not from 1 to 100000
			POST | /sales?sku=SKU1&stock=1&buyers=0      | buyers is 0, which is not from 1 to 2000
			POST | /sales?sku=SKU1&stock=1&buyers=2001   | buyers is 2001, which is not from 1 to 2000
			POST | /sales?sku=SKU:1&stock=1&buyers=1     | sku does not match [A-Za-z0-9_-]{1,40}
			POST | /sales?sku=&stock=1&buyers=1          | sku does not match [A-Za-z0-9_-]{1,40}
			POST | /sales?sku=SKU1&stock=many&buyers=1   | Failed to convert 'stock' with value: 'many'
			POST | /sales?sku=SKU1&stock=1               | Required parameter 'buyers' is not present.
			POST | /rush?sku=SKU:1&readers=1             | sku does not match [A-Za-z0-9_-]{1,40}
			POST | /rush?sku=SKU1&readers=0              | readers is 0, which is not from 1 to 2000
			POST | /rush?sku=SKU1&readers=2001           | readers is 2001, which is not from 1 to 2000
			POST | /quotes?orders=0                      | orders is 0, which is not from 1 to 500
			POST | /quotes?orders=501                    | orders is 501, which is not from 1 to 500
			PUT  | /quotes/limit?limit=-1                | limit is -1, which is not from 0 to 1000
			PUT  | /quotes/limit?limit=1001              | limit is 1001, which is not from 0 to 1000
			PUT  | /quotes/limit?limit=many              | Failed to convert 'limit' with value: 'many'
			PUT  | /quotes/limit                         | Required parameter 'limit' is not present.
			POST | /sales?sku=SKU1&stock=1&buyers=1&lock=perhaps | Failed to convert 'lock' with value: 'perhaps'
			GET  | /sales/SKU:1                          | sku does not match [A-Za-z0-9_-]{1,40}
			POST | /freeze?seconds=0&writers=1           | seconds is 0, which is not from 1 to 20
			POST | /freeze?seconds=21&writers=1          | seconds is 21, which is not from 1 to 20
			POST | /freeze?seconds=1&writers=0           | writers is 0, which is not from 1 to 500
			POST | /freeze?seconds=1&writers=501         | writers is 501, which is not from 1 to 500
			""")
	@DisplayName("Bad parameters are refused with the reason")
	void refusesBadParameters(String method, String uri, String detail) {
		shop.expectProblem(HttpMethod.valueOf(method), uri, 400, detail);
	}

	@Test
	@DisplayName("The help lists the possible calls")
	void saysWhatCanBeCalled() {
		shop.http()
			.get()
			.uri("/help")
			.exchange()
			.expectStatus()
			.isOk()
			.expectBody(String.class)
			.value((text) -> assertThat(text).contains("POST   /sales?sku=", "POST   /rush?sku=",
					"POST   /quotes?orders=", "PUT    /quotes/limit?limit=", "POST   /freeze?seconds=",
					"PUT    /settings?editor="));
	}

	@ParameterizedTest
	@CsvSource({ "/lock, 409", "/permit, 429", "/closing, 503", "/outage, 503" })
	@DisplayName("A caller without a lock or permit gets a status for the reason, without the key")
	void tellsThatALockOrPermitWasNotToBeHad(String uri, int status) {
		RestTestClient.bindToController(new Unlucky())
			.configureServer((server) -> server.setControllerAdvice(new ShopErrors()))
			.build()
			.get()
			.uri(uri)
			.exchange()
			.expectStatus()
			.isEqualTo(status)
			.expectHeader()
			.valueEquals("Retry-After", "1")
			.expectBody()
			.jsonPath("$.detail")
			.isEqualTo("Please try again in a moment");
	}

	/** Not static, so that the shop does not find it as a bean. */
	@RestController
	class Unlucky {

		@GetMapping("/lock")
		void lock() {
			throw new LockNotAcquiredException("stock:SKU0001", Reason.TIMED_OUT, Duration.ofSeconds(30), null);
		}

		@GetMapping("/permit")
		void permit() {
			throw new PermitNotAcquiredException("carrier", 1, 3, Reason.TIMED_OUT, Duration.ofSeconds(30), null);
		}

		@GetMapping("/closing")
		void closing() {
			throw new LockNotAcquiredException("stock:SKU0001", Reason.SHUTDOWN, Duration.ZERO, null);
		}

		@GetMapping("/outage")
		void outage() {
			throw new LeaseStoreException("stock:SKU0001", "Redis is away", null);
		}

	}

}
