package io.holdfast.sample;

import java.time.Duration;
import java.util.Map;

import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.client.RestTestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two editors of the settings, at two instances.
 */
class SettingsTests extends TwoInstancesTestCase {

	@BeforeAll
	static void start() {
		startTwo();
	}

	@AfterEach
	void giveUp() {
		for (Instance instance : new Instance[] { first, second }) {
			instance.http().delete().uri("/settings/edit?editor=anna").exchange();
			instance.http().delete().uri("/settings/edit?editor=bert").exchange();
		}
	}

	@Test
	@DisplayName("S17: the second editor sees the name and start time of the current editor, at any instance")
	void tellsWhoEdits() {
		SettingsEditor.Editing editing = open(first, "anna").expectStatus()
			.isOk()
			.expectBody(SettingsEditor.Editing.class)
			.returnResult()
			.getResponseBody();
		assertThat(editing).isNotNull();
		String whoEdits = "anna has been editing them since " + editing.since();
		expectConflict(open(first, "bert"), "Cannot open the settings: " + whoEdits);
		expectConflict(open(second, "bert"), "Cannot open the settings: " + whoEdits);
		expectConflict(save(second, "bert", "USD"),
				"bert has not opened the settings at instance " + second.port() + ": " + whoEdits);
		second.http().get().uri("/settings").exchange().expectBody().jsonPath("$.editing.editor").isEqualTo("anna");
	}

	@Test
	@DisplayName("S17: an editor may open the settings again, and saves at the instance of the opening")
	void savesWhereOpened() {
		open(first, "anna").expectStatus().isOk();
		open(first, "anna").expectStatus().isOk();
		expectConflict(save(second, "anna", "EUR"), "anna has not opened the settings at instance " + second.port());
		save(first, "anna", "EUR").expectStatus()
			.isOk()
			.expectBody()
			.jsonPath("$.values.currency")
			.isEqualTo("EUR")
			.jsonPath("$.editing")
			.isEmpty();
		expectConflict(save(first, "anna", "USD"), "no editor has them right now");
		open(second, "bert").expectStatus().isOk();
	}

	@Test
	@DisplayName("S17: giving up changes nothing and lets the next editor edit")
	void givesUp() {
		open(first, "anna").expectStatus().isOk();
		save(first, "anna", "CHF").expectStatus().isOk();
		open(second, "anna").expectStatus().isOk();
		second.http().delete().uri("/settings/edit?editor=anna").exchange().expectStatus().isOk();
		open(first, "bert").expectStatus().isOk();
		first.http().get().uri("/settings").exchange().expectBody().jsonPath("$.values.currency").isEqualTo("CHF");
	}

	@Test
	@DisplayName("S17: an editor who vanishes is released after the editing time, and can no longer save")
	void releasesWhoVanished() {
		Instance hurried = instances.start("--shop.editing-time=500ms", "--shop.editing-lease=500ms");
		open(hurried, "anna").expectStatus().isOk();
		await().atMost(Duration.ofSeconds(20))
			.until(() -> open(first, "bert").returnResult(Void.class).getStatus().is2xxSuccessful());
		expectConflict(save(hurried, "anna", "USD"), "anna took too long");
	}

	@Test
	@DisplayName("S17: settings of an editor whose instance is dead do not count as free")
	void editorOfDeadInstance() {
		StringRedisTemplate redis = first.context().getBean(StringRedisTemplate.class);
		redis.opsForValue().set("lock:settings", "0123456789abcdef0123456789abcdef:1", Duration.ofMinutes(1));
		try {
			expectConflict(open(first, "bert"),
					"Cannot open the settings: an unknown editor has been editing them since ");
			assertThat(second.send(HttpMethod.GET, "/settings", String.class))
				.contains("\"editor\":\"an unknown editor\"");
		}
		finally {
			redis.delete("lock:settings");
		}
	}

	@Test
	@DisplayName("An editor's name is checked")
	void checksTheName() {
		open(first, "<b>").expectStatus().isBadRequest();
	}

	private static RestTestClient.ResponseSpec open(Instance instance, String editor) {
		return instance.http().post().uri("/settings/edit?editor={editor}", editor).exchange();
	}

	private static RestTestClient.ResponseSpec save(Instance instance, String editor, String currency) {
		return instance.http()
			.put()
			.uri("/settings?editor={editor}", editor)
			.contentType(MediaType.APPLICATION_JSON)
			.body(Map.of("currency", currency))
			.exchange();
	}

	private static void expectConflict(RestTestClient.ResponseSpec response, String detail) {
		response.expectStatus()
			.isEqualTo(409)
			.expectBody()
			.jsonPath("$.detail")
			.value(String.class, (text) -> assertThat(text).contains(detail));
	}

}
