package io.holdfast.sample;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Objects;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.core.env.Environment;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Service;
import org.springframework.web.server.ResponseStatusException;

/**
 * Editing of the shop's settings by one person at a time, over all instances. Opening the
 * settings takes a lock, which is held over several requests until the settings are saved
 * or closed. Other persons see the name of the editor. After the editor has disappeared,
 * the lease is renewed only for the editing time.
 */
@Service
class SettingsEditor {

	private static final String LOCK = "settings";

	private static final String SETTINGS_KEY = "shop:settings";

	private final LockService locks;

	private final StringRedisTemplate redis;

	private final JsonMapper json;

	private final ShopProperties properties;

	private final Environment environment;

	private @Nullable Open open;

	SettingsEditor(LockService locks, StringRedisTemplate redis, JsonMapper json, ShopProperties properties,
			Environment environment) {
		this.locks = locks;
		this.redis = redis;
		this.json = json;
		this.properties = properties;
		this.environment = environment;
	}

	/**
	 * Return the settings.
	 * @return the settings and their editor
	 */
	Settings read() {
		String text = this.redis.opsForValue().get(SETTINGS_KEY);
		Map<String, Object> values = (text == null) ? Map.of() : this.json.readValue(text, new TypeReference<>() {
		});
		return new Settings(values, editing());
	}

	/**
	 * Open the settings for editing. Has no effect on settings that this editor has
	 * already opened at this instance.
	 * @param editor the name of the editor
	 * @return the editing
	 * @throws ResponseStatusException if another person edits the settings
	 */
	synchronized Editing open(String editor) {
		if (this.open != null && this.open.isHeldBy(editor)) {
			return this.open.editing();
		}
		// Not re-entrant: the thread of this request may have served another editor
		// before, and would get the lock of that editor again.
		LockLease lease = this.locks
			.tryAcquire(LockRequest.of(LOCK)
				.waitTime(Duration.ZERO)
				.leaseTime(this.properties.editingLease())
				.maxHold(this.properties.editingTime())
				.reentrant(false)
				.note(editor))
			.orElseThrow(() -> conflict("Cannot open the settings: " + whoEdits()));
		Editing editing = editing(editor, this.locks.status(LOCK));
		this.open = new Open(editing, lease);
		return editing;
	}

	/**
	 * Save and close the settings.
	 * @param editor the name of the editor
	 * @param values the settings
	 * @throws ResponseStatusException if this editor has not opened the settings at this
	 * instance, or has not closed the settings in time
	 */
	synchronized void save(String editor, Map<String, Object> values) {
		Open mine = openedBy(editor);
		this.redis.opsForValue().set(SETTINGS_KEY, this.json.writeValueAsString(values));
		close(mine);
	}

	/**
	 * Close the settings without saving.
	 * @param editor the name of the editor
	 * @throws ResponseStatusException if this editor has not opened the settings at this
	 * instance, or has not closed the settings in time
	 */
	synchronized void giveUp(String editor) {
		close(openedBy(editor));
	}

	private Open openedBy(String editor) {
		Open current = this.open;
		if (current != null && current.isHeldBy(editor)) {
			return current;
		}
		if (current != null && current.editing().editor().equals(editor)) {
			this.open = null;
			throw conflict(editor + " took too long, the settings were released: open them again. " + whoEdits());
		}
		throw conflict(editor + " has not opened the settings at instance " + instance() + ": " + whoEdits());
	}

	private void close(Open mine) {
		this.open = null;
		// Waits for the release: the next editor may use another instance.
		mine.lease().release();
	}

	/**
	 * Return the current editing, or {@code null}. The name of the editor comes from the
	 * editor's instance, which may not answer.
	 */
	private @Nullable Editing editing() {
		LockStatus status = this.locks.status(LOCK);
		return status.isLocked() ? editing(Objects.requireNonNullElse(status.note(), "an unknown editor"), status)
				: null;
	}

	private Editing editing(String editor, LockStatus status) {
		Instant since = Objects.requireNonNullElseGet(status.since(), Instant::now).truncatedTo(ChronoUnit.SECONDS);
		return new Editing(editor, since,
				since.plus(this.properties.editingTime()).plus(this.properties.editingLease()));
	}

	private String whoEdits() {
		Editing editing = editing();
		return (editing == null) ? "no editor has them right now"
				: editing.editor() + " has been editing them since " + editing.since();
	}

	private String instance() {
		return this.environment.getRequiredProperty("local.server.port");
	}

	private static ResponseStatusException conflict(String detail) {
		return new ResponseStatusException(HttpStatus.CONFLICT, detail);
	}

	/**
	 * Settings of the shop.
	 *
	 * @param values the values
	 * @param editing the current editing, or {@code null}
	 */
	record Settings(Map<String, Object> values, @Nullable Editing editing) {
	}

	/**
	 * Editing of the settings.
	 *
	 * @param editor the name of the editor, not known if the editor's instance does not
	 * answer
	 * @param since the time of the opening
	 * @param until the latest end without closing
	 */
	record Editing(String editor, Instant since, Instant until) {
	}

	/** Editing that was opened at this instance. */
	private record Open(Editing editing, LockLease lease) {

		boolean isHeldBy(String editor) {
			return this.lease.isHeld() && this.editing.editor().equals(editor);
		}

	}

}
