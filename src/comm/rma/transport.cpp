#include "comm/rma/transport.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/rma/bootstrap.hpp"
#include "comm/rma/gaspi.hpp"
#include "comm/rma/gaspi_messages.hpp"
#include "comm/rma/libfabric_endpoint.hpp"
#include "comm/rma/message_endpoint.hpp"
#include "comm/rma/message_library.hpp"

namespace dovetail::comm::rma {
namespace {

constexpr std::string_view of_libfabric = "libfabric";
constexpr std::string_view of_nothing = "none";
constexpr std::string_view made = "made";

// Of groups by messages that this process has begun. All ranks take the next number behind the highest.
constinit unsigned groups_begun = 0;

// What this process could reach other nodes by. None: the exception says why.
struct Choice {
  std::unique_ptr<FabricEndpoint> libfabric;
  MessageLibrary* messages = nullptr;
  std::exception_ptr why_none;
};

MessageLibrary& library_in_place_of(const NoLibfabric& missing, const Bootstrap& starter) {
  try {
    return require_message_library(starter.rank(), starter.size());
  } catch (const std::exception& why_not) {
    throw std::runtime_error(std::string(missing.what()) + "; " + why_not.what());
  }
}

Choice choose(const Bootstrap& starter, const std::string& local_address, std::chrono::milliseconds limit) {
  Choice choice;
  try {
    if (is_gaspi_wanted()) {
      choice.messages = &require_gaspi_messages(starter.rank(), starter.size(), limit);
    } else if (is_message_library_wanted()) {
      choice.messages = &require_message_library(starter.rank(), starter.size());
    } else {
      try {
        choice.libfabric = open_wanted_libfabric(local_address);
      } catch (const NoLibfabric& missing) {
        choice.messages = &library_in_place_of(missing, starter);
      }
    }
  } catch (...) {
    choice.why_none = std::current_exception();
  }
  return choice;
}

// What the others are told: a name, and of messages behind a "/" how many groups there were, and whether there is a channel.
struct Card {
  std::string name;
  unsigned groups = 0;
  bool has_channel = false;
};

Card card_of(const Choice& choice) {
  if (choice.why_none != nullptr) {
    return {.name = std::string(of_nothing)};
  }
  if (choice.messages == nullptr) {
    return {.name = std::string(of_libfabric)};
  }
  std::string name = name_of_message_library(choice.messages->version());
  std::ranges::replace(name, '_', '-');  // which stands for a space in a card
  std::ranges::replace(name, '/', '-');
  return {.name = std::move(name), .groups = groups_begun, .has_channel = choice.messages->has_channel()};
}

// A card has no spaces.
std::string text_of(const Card& card) {
  std::string text = card.name + "/" + std::to_string(card.groups) + "/" + (card.has_channel ? "1" : "0");
  std::ranges::replace(text, ' ', '_');
  return text;
}

Card parse_card(const std::string& text) {
  Card card;
  const std::size_t slash = std::min(text.find('/'), text.size());
  card.name = text.substr(0, slash);
  std::ranges::replace(card.name, '_', ' ');
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + std::min(slash + 1, text.size()), end, card.groups);
  if (error != std::errc() || end - rest != 2) {
    throw std::runtime_error("A rank has the card \"" + text +
                             "\", which is none: do all ranks run the same version of Dovetail?");
  }
  card.has_channel = rest[1] == '1';
  return card;
}

std::vector<Card> exchange(Bootstrap& starter, const Card& own) {
  std::vector<Card> cards;
  for (const std::string& text : starter.exchange(text_of(own))) {
    cards.push_back(parse_card(text));
  }
  return cards;
}

// All ranks see the same cards: so all throw, or none does.
void require_alike(const std::vector<Card>& cards, const Card& own) {
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const std::string who = "Rank " + std::to_string(rank);
    if (cards[rank].name == of_nothing) {
      throw std::runtime_error(who + " has nothing to reach other nodes by, and says why");
    }
    if (cards[rank].name != own.name) {
      throw std::runtime_error(who + " reaches other nodes by " + cards[rank].name + ", and this one by " + own.name +
                               ": DOVETAIL_FABRIC chooses what all nodes have");
    }
  }
  const auto other = std::ranges::find_if(cards, [&](const Card& each) { return each.name != cards.front().name; });
  if (other != cards.end()) {
    throw std::runtime_error("Ranks reach other nodes by " + cards.front().name + " and by " + other->name +
                             ": DOVETAIL_FABRIC chooses what all nodes have");
  }
}

// Where a rank has no channel, all make a new one. It counts if all have made it.
void make_channel(Bootstrap& starter, MessageLibrary& library, std::chrono::milliseconds limit) {
  library.drop_channel();
  std::exception_ptr why_not;
  try {
    finish_in_time([&] { return library.make_channel(); }, limit, library.channel());
  } catch (...) {
    why_not = std::current_exception();
  }
  const std::vector<std::string> verdicts = starter.exchange(std::string(why_not == nullptr ? made : of_nothing));
  const auto without = std::ranges::find_if(verdicts, [](const std::string& each) { return each != made; });
  if (without == verdicts.end()) {
    return;
  }
  library.drop_channel();
  if (why_not != nullptr) {
    std::rethrow_exception(why_not);
  }
  throw std::runtime_error("Rank " + std::to_string(without - verdicts.begin()) + " has no channel by " +
                           library.channel() + ", and says why");
}

}  // namespace

std::unique_ptr<FabricEndpoint> open_wanted_libfabric(const std::string& local_address) {
  LibfabricOptions options;
  if (const char* const wanted = std::getenv("DOVETAIL_FABRIC");
      wanted != nullptr && !is_message_library_wanted() && !is_gaspi_wanted()) {
    options.provider = wanted;
  }
  options.local_address = local_address;
  return open_libfabric(options);
}

std::unique_ptr<FabricEndpoint> open_transport(Bootstrap& starter, const std::string& local_address,
                                               std::chrono::milliseconds limit) {
  Choice choice = choose(starter, local_address, limit);
  const Card own = card_of(choice);
  const std::vector<Card> cards = exchange(starter, own);
  if (choice.why_none != nullptr) {
    std::rethrow_exception(choice.why_none);
  }
  require_alike(cards, own);
  if (choice.libfabric != nullptr) {
    return std::move(choice.libfabric);
  }
  groups_begun = std::ranges::max_element(cards, {}, &Card::groups)->groups + 1;
  if (!std::ranges::all_of(cards, &Card::has_channel)) {
    make_channel(starter, *choice.messages, limit);
  }
  return std::make_unique<MessageEndpoint>(*choice.messages, starter.rank(), starter.size(),
                                           static_cast<int>(groups_begun % (MessageLibrary::most_tag + 1)));
}

}  // namespace dovetail::comm::rma
