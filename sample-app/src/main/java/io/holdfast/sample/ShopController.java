package io.holdfast.sample;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** HTTP interface of the shop. */
@RestController
class ShopController {

	private static final Pattern SKU = Pattern.compile("[A-Za-z0-9_-]{1,40}");

	private static final Pattern EDITOR = Pattern.compile("[\\p{L}0-9 ._-]{1,40}");

	private final Sales sales;

	private final Rushes rushes;

	private final Quotes quotes;

	private final Freezer freezer;

	private final Reports reports;

	private final SettingsEditor settings;

	ShopController(Sales sales, Rushes rushes, Quotes quotes, Freezer freezer, Reports reports,
			SettingsEditor settings) {
		this.sales = sales;
		this.rushes = rushes;
		this.quotes = quotes;
		this.freezer = freezer;
		this.reports = reports;
		this.settings = settings;
	}

	@GetMapping(path = "/help", produces = MediaType.TEXT_PLAIN_VALUE)
	String help() {
		return """
				A small shop, run by several instances and kept in order by Holdfast. What can be called:

				POST   /sales?sku=SKU0001&stock=100&buyers=400   hold a sale, without and with the lock; just one: &lock=false, true
				GET    /sales/SKU0001                            read how many pieces are left
				POST   /rush?sku=SKU0001&readers=100             read a product that just expired from the cache
				POST   /quotes?orders=60                         call a slow carrier, without and with the semaphore
				GET    /quotes/limit                             read how many calls the carrier gets at a time
				PUT    /quotes/limit?limit=5                     change that, for all instances
				DELETE /quotes/limit                             restore the configured limit
				POST   /freeze?seconds=8&writers=12              have a holder freeze while others want its lock; and Redis lose the lock: &lose=true
				GET    /reports                                  read who wrote the last reports, of which one is due every two seconds
				GET    /settings                                 read the settings, and who edits them
				POST   /settings/edit?editor=anna                open the settings for editing
				PUT    /settings?editor=anna                     save a JSON object as the settings, and close
				DELETE /settings/edit?editor=anna                close without saving
				""";
	}

	@PostMapping("/sales")
	SaleResult sell(@RequestParam String sku, @RequestParam int stock, @RequestParam int buyers,
			@RequestParam(required = false) @Nullable Boolean lock) {
		check("sku", sku, SKU);
		check("stock", stock, 100_000);
		check("buyers", buyers, 2_000);
		return this.sales.hold(sku, stock, buyers, lock);
	}

	@GetMapping("/sales/{sku}")
	Sales.Stock stock(@PathVariable String sku) {
		check("sku", sku, SKU);
		return this.sales.stock(sku);
	}

	@PostMapping("/rush")
	RushResult rush(@RequestParam String sku, @RequestParam int readers) {
		check("sku", sku, SKU);
		check("readers", readers, 2_000);
		return this.rushes.run(sku, readers);
	}

	@PostMapping("/quotes")
	QuotesResult quote(@RequestParam int orders) {
		check("orders", orders, 500);
		return this.quotes.ask(orders);
	}

	@GetMapping("/quotes/limit")
	QuotesResult.Limit limit() {
		return this.quotes.limit();
	}

	@PutMapping("/quotes/limit")
	QuotesResult.Limit setLimit(@RequestParam int limit) {
		check("limit", limit, 0, 1_000);
		return this.quotes.setLimit(limit);
	}

	@DeleteMapping("/quotes/limit")
	QuotesResult.Limit clearLimit() {
		return this.quotes.clearLimit();
	}

	@PostMapping("/freeze")
	FreezeResult freeze(@RequestParam int seconds, @RequestParam int writers,
			@RequestParam(defaultValue = "false") boolean lose) {
		check("seconds", seconds, 20);
		check("writers", writers, 500);
		return this.freezer.freeze(Duration.ofSeconds(seconds), writers, lose);
	}

	@GetMapping("/reports")
	List<Reports.Report> reports() {
		return this.reports.last();
	}

	@GetMapping("/settings")
	SettingsEditor.Settings settings() {
		return this.settings.read();
	}

	@PostMapping("/settings/edit")
	SettingsEditor.Editing edit(@RequestParam String editor) {
		check("editor", editor, EDITOR);
		return this.settings.open(editor);
	}

	@PutMapping("/settings")
	SettingsEditor.Settings save(@RequestParam String editor, @RequestBody Map<String, Object> values) {
		check("editor", editor, EDITOR);
		this.settings.save(editor, values);
		return this.settings.read();
	}

	@DeleteMapping("/settings/edit")
	SettingsEditor.Settings giveUp(@RequestParam String editor) {
		check("editor", editor, EDITOR);
		this.settings.giveUp(editor);
		return this.settings.read();
	}

	private static void check(String name, int value, int max) {
		check(name, value, 1, max);
	}

	private static void check(String name, int value, int min, int max) {
		if (value < min || value > max) {
			throw new ResponseStatusException(HttpStatus.BAD_REQUEST,
					name + " is " + value + ", which is not from " + min + " to " + max);
		}
	}

	private static void check(String name, String value, Pattern allowed) {
		if (!allowed.matcher(value).matches()) {
			throw new ResponseStatusException(HttpStatus.BAD_REQUEST, name + " does not match " + allowed);
		}
	}

}
